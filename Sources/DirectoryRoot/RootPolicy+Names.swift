import CSyscalls

extension RootPolicy {
    /// Whether every component of `path` may exist for a requester: none is reserved, hidden or refused.
    ///
    /// Reserved is `.shareserve`, the server's own state, at any depth (a share inside this one has its state too), and
    /// every name that begins with `.shareserve-`, which our unfinished files have.
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
        if unsafe name.first == UInt8(ascii: ".") {
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
            return name.count > ending.count && name.suffix(ending.count).lazy.map(Self.lowered).elementsEqual(ending)
        }
    }

    private static func isAppleFile(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe name.starts(with: "._".utf8) || name.elementsEqual(".DS_Store".utf8)
    }

    fileprivate static func lowered(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}

/// Names that belong to the server and exist through no door.
package enum ReservedName {
    /// The folder that holds all state, in the root.
    package static let folder = ".shareserve"
    /// What our unfinished and doomed files are called, followed by random digits: short enough for any file system.
    package static let prefix = ".shareserve-"

    /// Whether a name is reserved, in any case of its letters: file systems may not tell them apart.
    package static func takes(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        let count = folder.utf8.count
        guard name.count >= count, unsafe name.count == count || name[count] == UInt8(ascii: "-") else { return false }
        return unsafe zip(name, folder.utf8).allSatisfy { byte, expected in RootPolicy.lowered(byte) == expected }
    }

    /// A fresh name for a file of ours.
    package static func fresh() -> String {
        var generator = SystemRandomNumberGenerator()
        return prefix + String(generator.next(), radix: 36)
    }
}
