extension SharePath {
    /// Reads a URL's path, without query: split at `/` first, then each segment percent-decoded exactly once.
    ///
    /// Empty segments collapse. `.` and `..`, however they are spelled, are resolved among the segments before them.
    /// - Parameter urlPath: the path's bytes as sent; leading and trailing slashes do not matter.
    /// - Throws: ``RootError/invalidName`` for an encoded slash, a NUL, a broken escape, a `..` above the root, a
    ///   segment of more than 255 or a path of more than 4,095 bytes.
    public init(decoding urlPath: UnsafeRawBufferPointer) throws(RootError) {
        self = try unsafe Self.read(urlPath, decodes: true)
    }

    /// The same for any bytes.
    /// - Throws: ``RootError/invalidName`` as above.
    public init(decoding urlPath: some Sequence<UInt8>) throws(RootError) {
        self = try Self.read(copying: urlPath, decodes: true)
    }

    /// The same for text.
    /// - Throws: ``RootError/invalidName`` as above.
    public init(decoding urlPath: some StringProtocol) throws(RootError) {
        self = try Self.read(copying: urlPath.utf8, decodes: true)
    }

    /// Reads a path that is not percent-encoded: a form's file name, a member of a JSON document or of an archive.
    ///
    /// The same rules, but a `%` is an ordinary byte.
    /// - Throws: ``RootError/invalidName`` for a NUL, a `..` above the root, or too many bytes.
    public init(bytes: some Sequence<UInt8>) throws(RootError) {
        self = try Self.read(copying: bytes, decodes: false)
    }

    private static func read(
        copying source: some Sequence<UInt8>, decodes: Bool
    ) throws(RootError) -> SharePath {
        let direct = source.withContiguousStorageIfAvailable { bytes in
            Result { () throws(RootError) in try unsafe read(UnsafeRawBufferPointer(bytes), decodes: decodes) }
        }
        if let direct { return try direct.get() }
        let copied = unsafe Array(source).withUnsafeBytes { bytes in
            Result { () throws(RootError) in try unsafe read(bytes, decodes: decodes) }
        }
        return try copied.get()
    }

    private static func read(_ source: UnsafeRawBufferPointer, decodes: Bool) throws(RootError) -> SharePath {
        // Three bytes may spell one, so this is the most that a good path can need.
        guard source.count <= 4 * (longestPath + 1) else { throw .invalidName }
        var isValid = true
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: source.count + 1) { buffer, count in
            var reader = unsafe SegmentReader(output: buffer)
            isValid = unsafe reader.read(source, decodes: decodes)
            count = reader.count
        }
        guard isValid, bytes.count <= longestPath else { throw .invalidName }
        return SharePath(unchecked: bytes)
    }
}

/// Writes cleaned segments into a buffer that has room for all of the source and one byte more.
@safe private struct SegmentReader {
    let output: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(output: UnsafeMutableBufferPointer<UInt8>) {
        unsafe self.output = unsafe output
    }

    mutating func read(_ source: UnsafeRawBufferPointer, decodes: Bool) -> Bool {
        var index = 0
        while index < source.count {
            let start = count
            if count > 0 { append(SharePath.slash) }
            let first = count
            while index < source.count, unsafe source[index] != SharePath.slash {
                var byte = unsafe source[index]
                index += 1
                if decodes, byte == UInt8(ascii: "%") {
                    guard source.count - index >= 2, let high = unsafe digit(source[index]),
                        let low = unsafe digit(source[index + 1])
                    else { return false }
                    byte = high << 4 | low
                    index += 2
                    if byte == SharePath.slash { return false }
                }
                if byte == 0 { return false }
                append(byte)
            }
            index += 1  // the slash
            guard finish(segmentAt: first, joinedAt: start) else { return false }
        }
        return true
    }

    /// Drops the empty segment and `.`, steps back for `..`.
    private mutating func finish(segmentAt first: Int, joinedAt start: Int) -> Bool {
        let dot = UInt8(ascii: ".")
        switch count - first {
        case 0:
            count = start
        case 1 where unsafe output[first] == dot:
            count = start
        case 2 where unsafe output[first] == dot && output[first + 1] == dot:
            guard start > 0 else { return false }
            count = unsafe output[..<start].lastIndex(of: SharePath.slash) ?? 0
        case let length:
            return length <= SharePath.longestName
        }
        return true
    }

    private mutating func append(_ byte: UInt8) {
        unsafe output[count] = byte
        count += 1
    }

    private func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
