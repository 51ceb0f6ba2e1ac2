import CSyscalls

extension RootPolicy {
    /// Whether every component of `path` may exist for a requester: none is reserved, hidden or refused.
    ///
    /// Reserved are `.shareserve`, the server's own state, at any depth (a share inside this one has its state too),
    /// and the names of our unfinished files, which begin with `.shareserve-`.
    func shows(_ path: SharePath) -> Bool {
        unsafe path.bytes.withUnsafeBufferPointer { bytes in
            var start = 0
            while start < bytes.count {
                var end = start
                while end < bytes.count, unsafe bytes[end] != SharePath.slash { end += 1 }
                if unsafe !shows(name: UnsafeBufferPointer(rebasing: bytes[start..<end])) { return false }
                start = end + 1
            }
            return true
        }
    }

    /// The same for one name.
    func shows(name: UnsafeBufferPointer<UInt8>) -> Bool {
        if let first = unsafe name.first, first == UInt8(ascii: ".") || first >= 0x80 {
            if unsafe ReservedName.takes(name) { return false }
            if refusesAppleFiles, unsafe Self.isAppleFile(name) { return false }
        }
        return hidden.isEmpty
            || !hidden.contains { pattern in unsafe sys_matches(pattern, name.baseAddress, name.count) == 1 }
    }

    /// The same for one name.
    func shows(name: [UInt8]) -> Bool { unsafe name.withUnsafeBufferPointer { unsafe shows(name: $0) } }

    /// Whether a new file may have this name.
    func allowsExtension(of name: some Collection<UInt8>) -> Bool {
        if allowedExtensions.isEmpty { return true }
        return allowedExtensions.contains { allowed in
            let ending = [UInt8(ascii: ".")] + Array(allowed.utf8)
            return name.count > ending.count
                && name.suffix(ending.count).lazy.map(NameKey.lowered).elementsEqual(ending)
        }
    }

    private static func isAppleFile(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe name.starts(with: "._".utf8) || name.elementsEqual(".DS_Store".utf8)
    }
}
