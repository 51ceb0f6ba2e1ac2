internal import CCrypt

/// The system's crypt(3).
///
/// Slow on purpose: never on an event loop.
enum PasswordCrypt {
    /// libcrypt refuses longer passwords.
    private static let longest = 511

    /// Whether libcrypt supports the kind and the parameters of a hash.
    static func canCheck(_ hash: String) -> Bool {
        // libcrypt would accept a setting without its hash, which matches nothing.
        hash.utf8.count < 384 && hash.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            && crypted([0x78], hash)?.utf8.count == hash.utf8.count
    }

    static func matches(_ password: [UInt8], _ hash: String) -> Bool {
        guard let made = crypted(password, hash) else { return false }
        return ConstantTime.equal(Array(made.utf8), Array(hash.utf8))
    }

    /// The hash of `password` with the kind, parameters and salt of `setting`; nil when libcrypt refuses.
    static func crypted(_ password: [UInt8], _ setting: String) -> String? {
        guard password.count <= longest, !password.contains(0) else { return nil }
        let buffer = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
        unsafe buffer.initialize(to: crypt_data())
        defer {
            unsafe buffer.deinitialize(count: 1)
            unsafe buffer.deallocate()
        }
        let phrase = password.map { CChar(bitPattern: $0) } + [0]
        guard let made = unsafe crypt_rn(phrase, setting, buffer, Int32(MemoryLayout<crypt_data>.size)) else {
            return nil
        }
        let text = unsafe String(cString: made)
        return text.hasPrefix("*") ? nil : text
    }

    /// A new setting of a kind, with a random salt; nil when libcrypt does not support the kind.
    static func setting(_ prefix: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(CRYPT_GENSALT_OUTPUT_SIZE))
        guard unsafe crypt_gensalt_rn(prefix, 0, nil, 0, &buffer, Int32(buffer.count)) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
