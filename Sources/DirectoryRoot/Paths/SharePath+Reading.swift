extension SharePath {
    /// Reads a path from text: a form's file name, a member of a JSON document or of an archive.
    ///
    /// Split at `/`; empty segments are dropped, and `.` and `..` are resolved against the segments before them.
    /// Nothing is percent-decoded: HTTP addresses have rules of their own.
    /// - Parameter source: the path's bytes; leading and trailing slashes do not matter.
    /// - Throws: ``RootError/invalidName`` for a NUL, a `..` above the root, a segment of more than 255 or a path of
    ///   more than 4,095 bytes.
    public init(bytes source: some Sequence<UInt8>) throws(RootError) {
        let direct = source.withContiguousStorageIfAvailable { bytes in
            Result { () throws(RootError) in try unsafe Self.read(UnsafeRawBufferPointer(bytes)) }
        }
        if let direct {
            self = try direct.get()
            return
        }
        let copied = unsafe Array(source).withUnsafeBytes { bytes in
            Result { () throws(RootError) in try unsafe Self.read(bytes) }
        }
        self = try copied.get()
    }

    private static func read(_ source: UnsafeRawBufferPointer) throws(RootError) -> SharePath {
        // `..` may remove as much again.
        guard source.count <= 4 * (longestPath + 1) else { throw .invalidName }
        var isValid = true
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: source.count + 1) { buffer, count in
            var reader = unsafe SegmentReader(output: buffer)
            isValid = unsafe reader.read(source)
            count = reader.count
        }
        guard isValid, bytes.count <= longestPath else { throw .invalidName }
        return SharePath(unchecked: bytes)
    }
}

/// Writes cleaned segments into a buffer as large as the source plus one byte.
@safe private struct SegmentReader {
    let output: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(output: UnsafeMutableBufferPointer<UInt8>) {
        unsafe self.output = unsafe output
    }

    mutating func read(_ source: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < source.count {
            let start = count
            if count > 0 { append(SharePath.slash) }
            let first = count
            while index < source.count, unsafe source[index] != SharePath.slash {
                let byte = unsafe source[index]
                index += 1
                if byte == 0 { return false }
                append(byte)
            }
            index += 1  // the slash
            guard finish(segmentAt: first, joinedAt: start) else { return false }
        }
        return true
    }

    /// Drops an empty segment or `.`; steps back for `..`.
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
}
