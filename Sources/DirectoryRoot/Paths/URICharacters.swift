/// A set of characters that stand for themselves in a URI; every other byte is percent-encoded, with upper-case digits.
///
/// Two words of bits: a test reads no memory. RFC 3986 §2.1.
package struct URICharacters: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// `unreserved` of RFC 3986 §2.3.
    package static let unreserved = URICharacters()
        .adding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    /// `unreserved`, and the slashes between segments.
    package static let unreservedPath = unreserved.adding("/")
    /// `pchar` of RFC 3986 §3.3 and slashes, except what has a meaning in markup, a form or a header field.
    package static let plainPath = unreservedPath.adding("!$()*,:@")
    /// `pchar` and slashes, except what has a meaning in markup or a header field, or what common clients encode: `&`,
    /// `'` and `;`.
    package static let path = plainPath.adding("+=")
    /// The same for WebDAV's documents, where `'` stands for itself, as with other servers: LibreOffice locks a file by
    /// the address that was listed and saves it by one that has `'`, and takes the two for different files.
    package static let reference = path.adding("'")

    private func adding(_ characters: StaticString) -> URICharacters {
        var set = self
        characters.withUTF8Buffer { characters in
            for index in characters.indices {
                let byte = unsafe characters[index]
                if byte < 64 { set.low |= 1 << byte } else { set.high |= 1 << (byte - 64) }
            }
        }
        return set
    }

    private func contains(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) & (1 &<< UInt64(byte)) != 0
    }

    /// Writes bytes of any kind, encoded, to the beginning of `buffer`, which must hold three times as many bytes.
    ///
    /// The one loop for all callers, called once per text: across modules it would not be inlined.
    /// - Returns: the number of bytes written.
    package func write(_ bytes: UnsafeBufferPointer<UInt8>, to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let start = buffer.baseAddress else { return 0 }
        var end = unsafe start
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            if contains(byte) {
                unsafe end.pointee = byte
                unsafe end += 1
            } else {
                unsafe end[0] = UInt8(ascii: "%")
                unsafe end[1] = Self.digit(byte >> 4)
                unsafe end[2] = Self.digit(byte & 15)
                unsafe end += 3
            }
        }
        return unsafe end - start
    }

    /// Appends bytes of any kind, encoded.
    package func append(_ bytes: [UInt8], to buffer: inout [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count * 3) { encoded in
                let count = unsafe write(bytes, to: encoded)
                unsafe buffer.append(contentsOf: encoded[..<count])
            }
        }
    }

    /// Bytes of any kind as text.
    package func text(_ bytes: [UInt8]) -> String {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe String(unsafeUninitializedCapacity: bytes.count * 3) { unsafe write(bytes, to: $0) }
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? value + 0x30 : value + 0x37 }
}
