import CSyscalls

extension UploadStore {
    /// Removes expired uploads, and what a crash left behind.
    ///
    /// Called at the start, and every minute.
    /// - Throws: what the disk reports for the first that could not be read or removed, after all others are done.
    package func sweep() throws(RootError) {
        guard !state.isReadOnly, let folder = try state.subfolder(Self.folder, creating: false) else { return }
        var attempts = Attempts()
        for name in try StateFolder.names(in: folder) {
            attempts.run { () throws(RootError) in try tidy(name, in: folder) }
        }
        try attempts.finish()
    }

    private func tidy(_ name: String, in folder: IdentifiedDescriptor) throws(RootError) {
        let id = String(name.prefix { $0 != "." })
        if name == id + Self.record {
            guard let record = try read(id, in: folder) else { return }
            if isOver(record, in: folder) { try remove(id, in: folder) }
        } else if isStray(name, of: id, in: folder) {
            // What can't be removed now is tried again the next time.
            _ = unsafe sys_unlinkat(folder.number, name, 0)
        }
    }

    /// When an upload expires if nobody continues it.
    func expires(_ record: UploadRecord, in folder: IdentifiedDescriptor) -> Timestamp {
        var last = record.touched
        if record.isFinished { return last.advanced(by: min(expiry, Self.remembersFinished)) }
        var status = sys_attributes()
        if unsafe sys_statat(folder.number, record.id + Self.part, &status) == 0 {
            let written = status.modificationTime
            // Bytes that could not get their name have the modification time that the file was to get: some clients'
            // clocks are years ahead.
            if written <= clock.wall().advanced(by: expiry) { last = max(last, written) }
        }
        return last.advanced(by: expiry)
    }

    /// Whether it has expired.
    func isOver(_ record: UploadRecord, in folder: IdentifiedDescriptor) -> Bool {
        expires(record, in: folder) <= clock.wall()
    }

    /// Whether it is a part without a record, or a temporary file, that was not touched for a day.
    private func isStray(_ name: String, of id: String, in folder: IdentifiedDescriptor) -> Bool {
        var status = sys_attributes()
        if name.hasSuffix(Self.part), unsafe sys_statat(folder.number, id + Self.record, &status) == 0 { return false }
        guard !name.hasSuffix(".damaged"), unsafe sys_statat(folder.number, name, &status) == 0 else { return false }
        return clock.wall().since(Timestamp(seconds: status.changed)) > .seconds(86_400)
    }
}
