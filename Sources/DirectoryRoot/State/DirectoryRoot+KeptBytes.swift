extension DirectoryRoot {
    /// Something small that the server created once and needs again later, such as its own certificate.
    ///
    /// - Parameter name: of a file in the state folder.
    /// - Returns: nil when there is none, or it can't be read.
    package func kept(_ name: String) -> [UInt8]? {
        let file = StateFile(state: state.folder, name: name)
        return (try? file.read())?.envelope.payload
    }

    /// What is stored under a name, or else what `make` returns, stored from now on: several processes that ask
    /// concurrently all get the same.
    ///
    /// Only this process's user can read it.
    /// - Parameters:
    ///   - name: of a file in the state folder.
    ///   - isGood: whether the stored bytes are usable; if not, they are replaced.
    ///   - make: makes a new one.
    /// - Returns: the stored bytes.
    /// - Throws: ``RootError/readOnly`` on a read-only share; what the disk reports.
    package func kept(
        _ name: String, isGood: ([UInt8]) -> Bool, orMake make: () -> [UInt8]
    ) throws(RootError) -> [UInt8] {
        if let bytes = kept(name), isGood(bytes) { return bytes }
        let file = StateFile(state: state.folder, name: name)
        return try state.folder.exclusively { (lock) throws(RootError) in
            let old = try file.readForChange(lock)
            if let bytes = old?.envelope.payload, isGood(bytes) { return bytes }
            let bytes = make()
            _ = try file.replace(old, with: bytes, lock)
            return bytes
        }
    }
}
