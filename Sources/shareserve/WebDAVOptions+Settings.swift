import WebDAV

extension WebDAVOptions {
    /// The WebDAV settings; the rest keep their defaults.
    init(_ settings: Settings) throws(StartError) {
        self.init()
        maxInfiniteMembers = try settings.number("propfind-limit", in: 0...10_000_000) ?? maxInfiniteMembers
        maxPropfinds = try settings.number("max-propfinds", in: 0...1_000_000) ?? maxPropfinds
        maxXMLDepth = try settings.number("max-xml-depth", in: 4...256) ?? maxXMLDepth
        if let bytes = try settings.bytes("max-xml-size") {
            guard 256...(16 << 20) ~= bytes else { throw .usage("max-xml-size: from 256 to 16M") }
            maxXMLBytes = Int(bytes)
        }
    }
}
