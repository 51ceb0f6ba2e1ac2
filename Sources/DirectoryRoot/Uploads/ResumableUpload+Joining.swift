import CSyscalls

extension ResumableUpload {
    /// Appends all the bytes of another upload, inside the kernel where it can.
    func append(_ piece: ResumableUpload) throws(RootError) {
        try part.owned { () throws(RootError) in
            try part.file.number.append(piece.part.file.number, count: piece.offset, at: offset)
            offset += piece.offset
        }
    }

    /// Lets the upload expire within the hour: its bytes are part of another one now.
    func giveUpSoon() throws(RootError) {
        let store = part.store
        guard store.expiry > UploadStore.remembersFinished else { return }
        let then = store.clock.wall().advanced(by: UploadStore.remembersFinished - store.expiry)
        var changed = record
        changed.touched = then
        try part.owned { () throws(RootError) in
            try part.write(changed)
            let stamped = sys_set_times(part.file.number, 0, -1, then.seconds, Int64(then.nanoseconds))
            try check(stamped, "futimens a part")
        }
        record = changed
    }
}

extension Share {
    /// Gives an upload's bytes their name by the one way by which a file's content changes; what has come stays where it
    /// is when that fails.
    func commit(
        _ part: UploadPart, to target: SharePath, replacing: Replacement, modified: Timestamp?
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool) {
        let location = try locateTarget(target, followsLink: true)
        let there = try location.directory.status()
        guard there.device == part.file.device, there.mount == part.file.mount else {
            // Another file system below the root: its own copy, and one rename there.
            let copy = try TemporaryFile(in: root, near: location.directory)
            try copy.descriptor.append(part.file.number, count: part.length(), at: 0)
            let result = try commit(copy, to: target, replacing: replacing, modified: modified)
            _ = sys_unlinkat(part.folder.number, part.name, 0)
            return result
        }
        let place = ScratchPlace(
            directory: SharedDescriptor(try Descriptor(sys_dup(part.folder.number), "dup")), name: Array(part.name.utf8)
        )
        let file = TemporaryFile(
            adopting: try Descriptor(sys_dup(part.file.number), "dup"), named: place)
        do throws(RootError) {
            return try commit(file, to: target, replacing: replacing, modified: modified)
        } catch {
            file.leave()
            throw error
        }
    }
}

extension Int32 {
    /// Writes the first `count` bytes of the file `source` into this one.
    fileprivate func append(_ source: Int32, count: Int64, at start: Int64) throws(RootError) {
        var from: Int64 = 0
        var to = start
        var usesKernel = true
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        while from < count {
            if usesKernel {
                let copied = sys_copy_range(source, &from, self, &to, Int(Swift.min(count - from, 1 << 30)))
                if copied > 0 { continue }
                usesKernel = false
                // Errors of the disk come up again below; a lack of the call does not.
            }
            let read = try check(
                sys_pread(source, buffer.baseAddress, Swift.min(buffer.count, Int(count - from)), from), "pread")
            guard read > 0 else { throw .preconditionFailed }
            var written = 0
            while written < read {
                let done = try check(
                    sys_pwrite(self, buffer.baseAddress?.advanced(by: written), read - written, to), "pwrite")
                guard done > 0 else { throw .noSpace }
                written += done
                to += Int64(done)
            }
            from += Int64(read)
        }
    }
}
