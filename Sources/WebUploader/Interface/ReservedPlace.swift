import DirectoryRoot

/// A place under the reserved address `/.shareserve/`.
struct ReservedPlace {
    /// The components after `.shareserve`.
    let components: [String]

    /// Nil for every other path.
    ///
    /// A name that is not UTF-8 is never one of these.
    init?(_ path: SharePath) {
        let name = ".shareserve".utf8
        guard path.bytes.starts(with: name) else { return nil }
        guard path.bytes.count == name.count || path.bytes[name.count] == UInt8(ascii: "/") else { return nil }
        components = path.components.dropFirst().map { String(decoding: $0, as: UTF8.self) }
    }
}
