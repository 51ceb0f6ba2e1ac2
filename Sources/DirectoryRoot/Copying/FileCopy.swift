import CSyscalls

/// Copies the bytes of one open file into another, empty one, by the cheapest way that the file systems offer.
enum FileCopy {
    /// The most bytes that one system call copies, so that the copy can be stopped in between.
    private static let step = 16 << 20

    /// - Parameters:
    ///   - source: open for reading.
    ///   - status: of the source, taken a moment ago.
    ///   - target: empty, open for writing.
    ///   - usesKernel: whether reflinks and `copy_file_range` may be tried.
    ///   - progress: called after each piece, of at most 16 MiB; throws to stop.
    /// - Throws: what reading or writing met.
    static func run(
        from source: Int32, _ status: sys_attributes, to target: Int32, usesKernel: Bool,
        progress: () throws(RootError) -> Void
    ) throws(RootError) {
        if usesKernel, sys_clone(source, target) == 0 { return }
        if status.hasHoles, sys_tells_holes(source) == 1,
            try copyData(from: source, upTo: status.size, to: target, usesKernel, progress)
        {
            return
        }
        if usesKernel, try copyInKernel(from: source, to: target, progress: progress) { return }
        var behind = WriteBehind()
        _ = try copyThroughMemory(0..<Int64.max, of: source, to: target, at: 0, &behind, progress: progress)
    }

    /// Refuses a copy that ended before its source did, whatever the disk reported: a move would delete the rest.
    ///
    /// A copy of a file that was written to meanwhile is as good as one made at another moment; a move starts over.
    /// Some files, such as those of sysfs, report a larger size than what they hold.
    /// - Parameters:
    ///   - target: the copy.
    ///   - source: open for reading.
    ///   - status: of the source, before the copy.
    ///   - isMove: whether the source will be deleted.
    /// - Throws: ``RootError/changedMeanwhile`` for a move of a file that was written to; what the disk reports.
    static func requireWhole(
        _ target: Int32, of source: Int32, _ status: sys_attributes, isMove: Bool
    ) throws(RootError) {
        var (copied, now) = (sys_attributes(), sys_attributes())
        try unsafe check(sys_fstat(target, &copied), "fstat")
        guard copied.size < status.size else { return }
        try unsafe check(sys_fstat(source, &now), "fstat")
        if FileStamp(now) != FileStamp(status) {
            if isMove { throw .changedMeanwhile }
            return
        }
        var byte: UInt8 = 0
        let more = unsafe sys_pread(source, &byte, 1, Int64(clamping: copied.size))
        guard !isMove, try check(more, "pread") == 0 else { throw .system(errno: EIO, call: "copy a whole file") }
    }

    /// Copies the data and leaves the holes between: a sparse disk image may be larger than the other file system has
    /// free space.
    /// - Returns: false when the file system does not report its holes; nothing has been copied then.
    private static func copyData(
        from source: Int32, upTo size: UInt64, to target: Int32, _ usesKernel: Bool,
        _ progress: () throws(RootError) -> Void
    ) throws(RootError) -> Bool {
        var size = Int64(clamping: size)
        var from: Int64 = 0
        while from < size {
            var end: Int64 = 0
            let start = unsafe sys_next_data(source, from, &end)
            if start == -Int64(ENXIO) { break }
            if start < 0, from == 0 { return false }
            from = try check(start, "lseek")
            end = min(end, size)
            var behind = WriteBehind(from: from)
            while from < end {
                let span = from..<min(end, from + Int64(step))
                from = try copySpan(span, of: source, to: target, at: from, usesKernel: usesKernel, &behind)
                // The source was truncated.
                if from < span.upperBound { (size, end) = (from, from) }
                try progress()
            }
        }
        // What was appended meanwhile was not copied: no hole may stand there instead.
        var now = sys_attributes()
        try unsafe check(sys_fstat(source, &now), "fstat")
        try check(sys_truncate(target, min(size, Int64(clamping: now.size))), "ftruncate")
        return true
    }

    /// False when the kernel can't copy between these two, and nothing has been copied.
    private static func copyInKernel(
        from source: Int32, to target: Int32, progress: () throws(RootError) -> Void
    ) throws(RootError) -> Bool {
        var input: Int64 = 0
        var output: Int64 = 0
        var behind = WriteBehind()
        while true {
            let count = unsafe sys_copy_range(source, &input, target, &output, step)
            if count == 0 { return output > 0 }
            switch -count {
            case Int(EXDEV), Int(EINVAL), Int(ENOSYS), Int(EOPNOTSUPP), Int(EPERM), Int(EIO), Int(ETXTBSY):
                if output == 0 { return false }
            default: break
            }
            try check(count, "copy_file_range")
            behind.follow(to: output, in: target)
            try progress()
        }
    }

    /// Copies a span, or what there is of it, by reading and writing.
    /// - Parameters:
    ///   - span: bytes of the source.
    ///   - source: open for reading.
    ///   - target: open for writing.
    ///   - start: where the first of them goes.
    ///   - behind: follows what is written.
    ///   - progress: called after each piece.
    /// - Returns: where it ended in the source: earlier than the span where the source is shorter.
    /// - Throws: what reading or writing met, or `progress` throws.
    private static func copyThroughMemory(
        _ span: Range<Int64>, of source: Int32, to target: Int32, at start: Int64, _ behind: inout WriteBehind,
        progress: () throws(RootError) -> Void
    ) throws(RootError) -> Int64 {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 4_096)
        defer { unsafe buffer.deallocate() }
        var from = span.lowerBound
        var to = start
        while from < span.upperBound {
            let wanted = Int(min(Int64(pieceSize), span.upperBound - from))
            let count = try unsafe check(sys_pread(source, buffer.baseAddress, wanted, from), "pread")
            guard count > 0 else { break }
            try unsafe writeAll(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: target, at: &to)
            from += Int64(count)
            behind.follow(to: to, in: target)
            try progress()
        }
        return from
    }

    /// Bytes that are read and written at once.
    private static let pieceSize = 256 << 10

    /// Copies a span of one file to an offset in another, inside the kernel where possible: a file system with reflinks
    /// may then share the blocks instead of copying them.
    /// - Parameters:
    ///   - span: bytes of the source.
    ///   - source: open for reading.
    ///   - target: open for writing.
    ///   - start: the offset of the first byte in the target.
    /// - Throws: ``RootError/preconditionFailed`` when the source is shorter; what reading or writing met.
    static func append(
        _ span: Range<Int64>, of source: Int32, to target: Int32, at start: Int64
    ) throws(RootError) {
        var behind = WriteBehind(from: start)
        let end = try copySpan(span, of: source, to: target, at: start, usesKernel: true, &behind)
        guard end == span.upperBound else { throw .preconditionFailed }
    }

    /// Copies a span to an offset in another file.
    /// - Returns: where it ended in the source: before the end of the span when the source is shorter.
    private static func copySpan(
        _ span: Range<Int64>, of source: Int32, to target: Int32, at start: Int64, usesKernel: Bool,
        _ behind: inout WriteBehind
    ) throws(RootError) -> Int64 {
        var from = span.lowerBound
        var to = start
        while usesKernel, from < span.upperBound {
            let copied = unsafe sys_copy_range(
                source, &from, target, &to, Int(min(span.upperBound - from, Int64(step))))
            // An error of the disk comes up again below; a missing system call does not matter.
            guard copied > 0 else { break }
            behind.follow(to: to, in: target)
        }
        guard from < span.upperBound else { return from }
        return try copyThroughMemory(from..<span.upperBound, of: source, to: target, at: to, &behind) {}
    }
}
