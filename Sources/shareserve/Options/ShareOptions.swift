import ArgumentParser

/// Options for what is shared, and what no user may do with it.
enum ShareOptions: SettingsSection {
    static let settings: [Setting] = [
        .argument("path", completion: .directory, "The directory to share; default: the current one."),
        .flag("read-only", "Nobody changes anything."),
        .flag("no-delete", "Nobody deletes or moves anything away."),
        .flag("no-overwrite", "Nobody replaces anything but empty files."),
        .list("hidden", as: "glob", "Names that match do not exist, on any door, as in .git,*.tmp; may be repeated."),
        .list("allow-extensions", as: "list", "New files must end in one of these, as in jpg,png."),
        .flag("no-apple-files", "Refuse the files that macOS strews: .DS_Store and ._*."),
        .text(
            "max-upload-size", as: "size",
            "Largest upload, as in 500M or 20G (1K is 1024 bytes); default: no limit."),
        .text("min-free-space", as: "size", "Room that uploads must leave on the disk."),
        .flag("fsync", "Answer a write only when the disk has it."),
    ]
}
