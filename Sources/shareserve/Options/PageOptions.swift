import ArgumentParser

/// What the browser shows.
struct PageOptions: SettingsGroup {
    @Option(help: .init("The page's title.", valueName: "text"))
    var title: String?

    @Option(help: .init("A line above the listing.", valueName: "text"))
    var header: String?

    @Option(help: .init("A line below the listing.", valueName: "text"))
    var footer: String?

    @Option(help: .init("A file such as index.html that is shown in place of its folder.", valueName: "name"))
    var index: String?

    @Flag(help: "Print the address as a QR code too, for a phone's camera.")
    var qr = false

    @Option(
        help: .init("Files that replace those of the page, by name.", valueName: "directory"), completion: .directory)
    var assets: String?

    @Option(
        help: .init(
            "Keep what is deleted or replaced for so many days, to be restored from the page.", valueName: "days"))
    var trash: String?

    @Option(help: .init("Keep interrupted uploads for this long; default: 24h.", valueName: "time"))
    var uploadExpiry: String?
}
