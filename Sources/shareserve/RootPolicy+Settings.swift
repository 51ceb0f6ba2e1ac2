import DirectoryRoot

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension RootPolicy {
    /// The rules about files in the settings; the rest keep their defaults.
    init(_ settings: Settings) throws(StartError) {
        self.init()
        isReadOnly = try settings.isOn("read-only")
        refusesDelete = try settings.isOn("no-delete")
        refusesOverwrite = try settings.isOn("no-overwrite")
        refusesAppleFiles = try settings.isOn("no-apple-files")
        waitsForDisk = try settings.isOn("fsync")
        hidden = try settings.commaSeparatedList("hidden")
        if let path = hidden.first(where: { $0.contains("/") }) {
            throw .usage("hidden: '\(path)' is a path, and a pattern is for names alone, as in .git or *.tmp")
        }
        if let half = hidden.first(where: Self.hasLoneBrace) {
            // The commas in `*.{a,b}` split it into patterns that hide nothing.
            throw .usage("hidden: '\(half)' has half a pair of braces; name each pattern by itself, as in *.tmp,*.bak")
        }
        allowedExtensions = try settings.commaSeparatedList("allow-extensions").map { name throws(StartError) in
            let ending = name.lowercased().drop { $0 == "." }
            // Taken literally, a pattern or a list with other separators would allow no file.
            guard !ending.isEmpty, !ending.contains(where: { $0.isWhitespace || "*?[]{};|/".contains($0) }) else {
                throw .usage("allow-extensions: '\(name)' is not an ending such as jpg; several are written jpg,png")
            }
            return String(ending)
        }
        maxUploadSize = try settings.bytes("max-upload-size")
        minFreeSpace = try settings.bytes("min-free-space") ?? minFreeSpace
        uploadExpiry = try settings.patience("upload-expiry") ?? uploadExpiry
        maxLocks = try settings.number("max-locks", in: 0...1_000_000) ?? maxLocks
        maxLocksPerUser = try settings.number("max-locks-per-user", in: 0...1_000_000) ?? maxLocksPerUser
        if let user = settings.text("user") {
            // Before root creates anything, which would be closed to the intended user.
            guard let owner = FileOwner(named: user) else {
                throw .usage("cannot become the user '\(user)': no such user")
            }
            stateOwner = owner
        }
        trashDays = try settings.days("trash", in: 0...36_500) ?? trashDays
    }

    /// Whether a pattern has an unbalanced brace; `\{` is an ordinary character.
    private static func hasLoneBrace(_ pattern: String) -> Bool {
        var depth = 0
        var isEscaped = false
        for byte in pattern.utf8 {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"): depth -= 1
            default: break
            }
            if depth < 0 { return true }
        }
        return depth != 0
    }
}

extension StartError {
    /// The reason why the shared directory, or something in it, cannot be opened.
    init(_ error: RootError, opening path: String, of kind: String = "directory") {
        // Other servers take a port as the only argument.
        let hint = error == .notFound && UInt16(path) != nil ? "; a port goes to --port" : ""
        self.init(
            status: .noSuchDirectory, message: "cannot share '\(path)': \(Self.reason(error, of: kind))\(hint)")
    }

    /// The reason why the directory that a setting names cannot be read.
    init(_ error: RootError, reading setting: String, path: String) {
        self.init(
            status: .noSuchDirectory,
            message: "\(setting): cannot read '\(path)': \(Self.reason(error, of: "directory"))")
    }

    private static func reason(_ error: RootError, of kind: String) -> String {
        switch error {
        case .notFound: "there is no such \(kind)"
        case .notDirectory: "it is not a directory"
        case .forbidden: "permission denied"
        case .tooLarge: "its files are too large"
        case .tooManyLinks: "there are as many share links as possible; --revoke ends one"
        case .readOnly: "the disk is read-only"
        case .noSpace: "the disk is full"
        case .busy: "another process is at work on its state; try again"
        case .system(let failed): unsafe String(cString: strerror(failed.errno))
        default: "\(error)"
        }
    }
}
