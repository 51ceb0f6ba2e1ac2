import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The environment variables that may be settings.
enum Environment {
    /// The prefix of all their names.
    static let prefix = "SHARESERVE_"

    /// The variables whose names begin with ``prefix``.
    ///
    /// Foundation replaces what is not UTF-8: the value would be another path, another password, or a pattern that
    /// hides nothing.
    ///
    /// - Returns: their values by name; if a name occurs twice, the first, as everywhere.
    /// - Throws: ``StartError`` for a value that is not UTF-8; it is not shown, since it may be a password.
    static func settings() throws(StartError) -> [String: String] {
        var settings: [String: String] = [:]
        var index: Int32 = 0
        while let variable = unsafe sys_variable(index) {
            index += 1
            guard unsafe strncmp(variable, prefix, prefix.utf8.count) == 0 else { continue }
            let mended = unsafe String(cString: variable).utf8
            guard let equals = mended.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(mended[..<equals]) ?? prefix
            guard let text = unsafe String(validatingCString: variable) else { throw .usage("\(name) is not UTF-8") }
            guard settings[name] == nil else { continue }
            settings[name] = String(text.utf8.dropFirst(name.utf8.count + 1))
        }
        return settings
    }
}
