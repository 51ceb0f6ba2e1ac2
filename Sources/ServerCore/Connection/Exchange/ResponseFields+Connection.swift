extension ResponseFields {
    /// Whether the connection itself sets this field.
    static func isSetByConnection(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: ASCII.equalIgnoringCase(name.utf8, "date".utf8)
        case 10: ASCII.equalIgnoringCase(name.utf8, "connection".utf8)
        case 14: ASCII.equalIgnoringCase(name.utf8, "content-length".utf8)
        case 17: ASCII.equalIgnoringCase(name.utf8, "transfer-encoding".utf8)
        default: false
        }
    }
}
