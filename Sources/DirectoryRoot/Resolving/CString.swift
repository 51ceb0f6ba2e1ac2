extension SharePath {
    /// The path as a NUL-terminated string on the stack, `.` for the root.
    func withCPath<Answer>(_ body: (UnsafePointer<CChar>) -> Answer) -> Answer {
        if isRoot { return unsafe body(".") }
        return unsafe bytes.withUnsafeBufferPointer { source in unsafe CString.with(source, body) }
    }
}

/// Bytes as NUL-terminated strings for the C library.
enum CString {
    /// Passes `body` a NUL-terminated copy on the stack (up to 1 KiB, else on the heap), valid during the call.
    static func with<Answer>(
        _ source: UnsafeBufferPointer<UInt8>, _ body: (UnsafePointer<CChar>) -> Answer
    ) -> Answer {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: source.count + 1) { copy in
            let bytes = UnsafeMutableRawBufferPointer(copy)
            unsafe bytes.copyMemory(from: UnsafeRawBufferPointer(source))
            unsafe bytes[source.count] = 0
            return unsafe copy.withUnsafeStart(body)
        }
    }

    /// The same for one name of at most 255 bytes.
    static func with<Answer>(
        _ name: some Collection<UInt8>, _ body: (UnsafePointer<CChar>) -> Answer
    ) -> Answer {
        let direct = name.withContiguousStorageIfAvailable { bytes in unsafe with(bytes, body) }
        if let direct { return direct }
        return unsafe Array(name).withUnsafeBufferPointer { bytes in unsafe with(bytes, body) }
    }
}

extension UnsafeMutableBufferPointer<CChar> {
    /// Passes the start of a buffer that is known not to be empty.
    fileprivate func withUnsafeStart<Answer>(_ body: (UnsafePointer<CChar>) -> Answer) -> Answer {
        guard let start = baseAddress else { return unsafe body("") }
        return unsafe body(UnsafePointer(start))
    }
}
