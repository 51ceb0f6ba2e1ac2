#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file that a setting names.
enum SettingFile {
    /// Reads the whole file.
    ///
    /// - Parameters:
    ///   - path: as in the setting.
    ///   - kind: what to call the file in a message.
    /// - Returns: its bytes.
    /// - Throws: ``StartError`` with the reason why it cannot be read.
    static func read(_ path: String, as kind: String) throws(StartError) -> [UInt8] {
        var found = stat()
        // Foundation would report missing permission.
        if unsafe stat(path, &found) == 0, found.st_mode & S_IFMT != S_IFREG {
            throw .usage("cannot read the \(kind) \(path): it is not a regular file")
        }
        do {
            return [UInt8](try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw .usage("cannot read the \(kind) \(path): \(reason(error))")
        }
    }

    /// Reads the whole file as text.
    ///
    /// - Parameters:
    ///   - path: as in the setting.
    ///   - kind: what to call the file in a message.
    /// - Returns: its text.
    /// - Throws: ``StartError`` with the reason why it cannot be read; also when it is not UTF-8: with replacement
    ///   characters, a rule in it would be for another path, and a password one that nobody has.
    static func text(_ path: String, as kind: String) throws(StartError) -> String {
        let bytes = try read(path, as: kind)
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let number = 1 + (lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0)
        throw .usage("\(path): line \(number) is not UTF-8; in a path, other bytes are written as %E4")
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile?: "there is no such file"
        case .fileReadNoPermission?: "permission denied"
        default: "it is not a file that can be read"
        }
    }
}
