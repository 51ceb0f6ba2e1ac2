extension DirectoryRoot {
    /// Something small that the server made once and wants to find again, such as its own certificate.
    ///
    /// - Parameter name: of a file in the state folder.
    /// - Returns: nil when there is none, or none that can be read.
    package func kept(_ name: String) -> [UInt8]? {
        let file = StateFile(state: state.folder, name: name)
        return (try? file.read())?.envelope.payload
    }

    /// What is kept under a name, or what `make` gives, kept from now on: of several processes that ask at a time, all
    /// get the same.
    ///
    /// Only this process's user can read it.
    /// - Parameters:
    ///   - name: of a file in the state folder.
    ///   - isGood: whether what is there can be used; if not, it is replaced.
    ///   - make: makes a new one.
    /// - Returns: what is kept.
    /// - Throws: ``RootError/readOnly`` on a read-only share; what the disk says.
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
