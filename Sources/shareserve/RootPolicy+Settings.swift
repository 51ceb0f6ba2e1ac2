import DirectoryRoot

extension RootPolicy {
    /// The rules about files that the settings name; the rest keep their defaults.
    init(_ settings: Settings) throws(StartError) {
        self.init()
        isReadOnly = try settings.isOn("read-only")
        refusesDelete = try settings.isOn("no-delete")
        refusesOverwrite = try settings.isOn("no-overwrite")
        refusesAppleFiles = try settings.isOn("no-apple-files")
        waitsForDisk = try settings.isOn("fsync")
        hidden = settings.list("hidden")
        allowedExtensions = settings.commaSeparatedList("allow-extensions").map { name in
            String(name.lowercased().drop { $0 == "." })
        }
        maxUploadSize = try settings.bytes("max-upload-size")
        minFreeSpace = try settings.bytes("min-free-space") ?? minFreeSpace
        uploadExpiry = try settings.duration("upload-expiry") ?? uploadExpiry
        trashDays = try settings.number("trash", in: 0...36_500) ?? trashDays
    }
}

extension StartError {
    /// Why the shared directory cannot be opened.
    init(_ error: RootError, opening path: String) {
        let reason =
            switch error {
            case .notFound: "there is no such directory"
            case .notDirectory: "it is not a directory"
            case .forbidden: "permission denied"
            default: "\(error)"
            }
        self.init(status: .noSuchDirectory, message: "cannot share '\(path)': \(reason)")
    }
}
