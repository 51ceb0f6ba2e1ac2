import FoundationEssentials

/// A file that a setting names.
enum SettingFile {
    /// Reads the whole file.
    ///
    /// - Parameters:
    ///   - path: as the setting says it.
    ///   - kind: what the file is to a person.
    /// - Returns: its bytes.
    /// - Throws: ``StartError`` that says why it cannot be read.
    static func read(_ path: String, as kind: String) throws(StartError) -> [UInt8] {
        do {
            return [UInt8](try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw .usage("cannot read the \(kind) \(path): \(reason(error))")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile?: "there is no such file"
        case .fileReadNoPermission?: "permission denied"
        default: "it is not a file that can be read"
        }
    }
}
