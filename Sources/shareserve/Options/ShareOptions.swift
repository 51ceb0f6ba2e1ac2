import ArgumentParser

/// What is shared, and what nobody may do with it.
struct ShareOptions: SettingsGroup {
    @Argument(help: "The directory to share; default: the current one.", completion: .directory)
    var path: String?

    @Flag(help: "Nobody changes anything.")
    var readOnly = false

    @Flag(help: "Nobody deletes or moves anything away.")
    var noDelete = false

    @Flag(help: "Nobody replaces anything.")
    var noOverwrite = false

    @Option(help: .init("Names that match do not exist, on any door; may be repeated.", valueName: "glob"))
    var hidden: [String] = []

    @Option(help: .init("New files must end in one of these, as in jpg,png.", valueName: "list"))
    var allowExtensions: [String] = []

    @Flag(help: "Refuse the files that macOS strews: .DS_Store and ._*.")
    var noAppleFiles = false

    @Option(help: .init("Largest upload, as in 500M or 20G (1K is 1024 bytes); default: no limit.", valueName: "size"))
    var maxUploadSize: String?

    @Option(help: .init("Room that uploads must leave on the disk.", valueName: "size"))
    var minFreeSpace: String?

    @Flag(help: "Answer a write only when the disk has it.")
    var fsync = false
}
