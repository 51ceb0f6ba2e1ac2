import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The process's variables, as far as they may be settings.
enum Environment {
    /// How the names of all of them begin.
    static let prefix = "SHARESERVE_"

    /// The variables whose names begin with ``prefix``.
    ///
    /// Foundation mends what is not UTF-8: it would be another path, another password, or a pattern that hides nothing.
    ///
    /// - Returns: their values by name; of two of one name the first, as everywhere.
    /// - Throws: ``StartError`` for one that is not UTF-8, whose value is not shown: it may be a password.
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
