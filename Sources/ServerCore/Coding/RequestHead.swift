/// The head of one request: its bytes as received, and the positions of the parts in them.
///
/// Filled by ``HTTP1HeadParser`` (or composed for HTTP/2 and tests) on one thread, and not changed any more once a
/// ``Request`` uses it; a connection fills the same object again only when nobody else holds it.
package final class RequestHead: @unchecked Sendable {
    /// Everything from the method to the last field, as received.
    var bytes: [UInt8] = []
    /// The position of each field line, in order.
    var slots: [FieldSlot] = []
    /// For each known field that was received, the index of its first line in ``slots``.
    private var firstSlots: [UInt8]
    /// The known fields that were received, as a set of bits.
    var known = KnownFields()
    /// The known fields that were received more than once.
    var repeated = KnownFields()
    /// The lengths of all names, as a set of bits: most fields that are looked up were not received, and need no
    /// comparison.
    private var lengths: UInt64 = 0
    var methodRange = 0..<0
    var targetRange = 0..<0
    /// 0 or 1 of `HTTP/1.x`; 1 for HTTP/2.
    var minorVersion = 1
    /// The decoded `Content-Length`; nil without one.
    var contentLength: Int64?
    var isChunked = false
    /// Whether the client allows the connection to persist.
    var keepsAlive = true
    var expectsContinue = false

    package init() {
        firstSlots = [UInt8](repeating: 0, count: KnownField.count)
    }

    /// Prepares this object for the next head; keeps its buffers.
    func reset() {
        bytes.removeAll(keepingCapacity: true)
        slots.removeAll(keepingCapacity: true)
        known = KnownFields()
        repeated = KnownFields()
        lengths = 0
        methodRange = 0..<0
        targetRange = 0..<0
        minorVersion = 1
        contentLength = nil
        isChunked = false
        keepsAlive = true
        expectsContinue = false
    }

    /// Records a field line.
    /// - Parameter slot: the line; its ranges are within what ``bytes`` will be once the head is complete.
    func add(_ slot: FieldSlot) {
        if let field = slot.known {
            if known.contains(field) {
                repeated.insert(field)
            } else {
                known.insert(field)
                firstSlots[Int(field.rawValue)] = UInt8(truncatingIfNeeded: min(slots.count, 255))
            }
        }
        lengths |= Self.mark(slot.name.count)
        slots.append(slot)
    }

    private static func mark(_ length: Int) -> UInt64 { 1 << UInt64(truncatingIfNeeded: length & 63) }

    /// The method as text.
    package var method: Method { Method(rawValue: text(methodRange)) }

    /// The request target as received.
    package var target: ArraySlice<UInt8> { bytes[targetRange] }

    /// The bytes of the first line of a known field; nil when it was not received.
    package subscript(field: KnownField) -> ArraySlice<UInt8>? {
        guard known.contains(field) else { return nil }
        let hint = Int(firstSlots[Int(field.rawValue)])
        if hint < 255, hint < slots.count { return bytes[slots[hint].value] }
        return slots.first { $0.known == field }.map { bytes[$0.value] }
    }

    /// The bytes of each line of a field, by its lower-case name.
    package func lines(_ name: String) -> [ArraySlice<UInt8>] {
        guard mayHold(name) else { return [] }
        var found: [ArraySlice<UInt8>] = []
        for slot in slots where matches(slot, name) { found.append(bytes[slot.value]) }
        return found
    }

    /// Whether a field was received.
    package func contains(_ name: String) -> Bool {
        mayHold(name) && slots.contains { matches($0, name) }
    }

    /// Whether a field of that name may have been received: false for most that were not.
    func mayHold(_ name: String) -> Bool { lengths & Self.mark(name.utf8.count) != 0 }

    private func matches(_ slot: FieldSlot, _ name: String) -> Bool {
        slot.name.count == name.utf8.count
            && ASCII.equalIgnoringCase(bytes[slot.name], name.utf8)
    }

    /// A part of the head as text: decoded as UTF-8 if it is valid, else as Latin-1.
    func text(_ range: Range<Int>) -> String { Self.text(bytes[range]) }

    /// The bytes of a field as text: decoded as UTF-8 if that is valid and tame, else as Latin-1.
    package static func text(_ bytes: ArraySlice<UInt8>) -> String {
        // Nearly all text is ASCII, which is detected in a fraction of the time.
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        if let text = String(validating: bytes, as: UTF8.self), TameText.isTame(text) { return text }
        return TameText.latin(bytes)
    }
}

/// The position of one field line in the bytes of its head.
package struct FieldSlot: Sendable {
    var nameStart: UInt32
    var nameCount: UInt32
    var valueStart: UInt32
    var valueCount: UInt32
    /// The field if the connection itself reads it; nil for all others.
    package var known: KnownField?

    /// The range of the name.
    package var name: Range<Int> { Int(nameStart)..<Int(nameStart) + Int(nameCount) }
    /// The range of the value, without the blanks around it.
    package var value: Range<Int> { Int(valueStart)..<Int(valueStart) + Int(valueCount) }
}

/// The fields that the connection itself reads, so that it need not look them up by name.
package enum KnownField: UInt8, CaseIterable, Sendable {
    case host, range, expect, cookie, origin, accept, upgrade, ifMatch, ifRange, connection, authorization, ifNoneMatch
    case contentLength, acceptEncoding, contentEncoding, transferEncoding, ifModifiedSince, ifUnmodifiedSince

    static let count = allCases.count

    /// The field of that name, in any case; nil for one that the connection does not read.
    static func named(_ name: UnsafeRawBufferPointer) -> KnownField? {
        switch name.count {
        case 4: unsafe same(name, "host") ? .host : nil
        case 5: unsafe same(name, "range") ? .range : nil
        case 6:
            unsafe same(name, "accept")
                ? .accept
                : same(name, "cookie") ? .cookie : same(name, "expect") ? .expect : same(name, "origin") ? .origin : nil
        case 7: unsafe same(name, "upgrade") ? .upgrade : nil
        case 8: unsafe same(name, "if-match") ? .ifMatch : same(name, "if-range") ? .ifRange : nil
        case 10: unsafe same(name, "connection") ? .connection : nil
        case 13: unsafe same(name, "authorization") ? .authorization : same(name, "if-none-match") ? .ifNoneMatch : nil
        case 14: unsafe same(name, "content-length") ? .contentLength : nil
        case 15: unsafe same(name, "accept-encoding") ? .acceptEncoding : nil
        case 16: unsafe same(name, "content-encoding") ? .contentEncoding : nil
        case 17:
            unsafe same(name, "transfer-encoding")
                ? .transferEncoding : same(name, "if-modified-since") ? .ifModifiedSince : nil
        case 19: unsafe same(name, "if-unmodified-since") ? .ifUnmodifiedSince : nil
        default: nil
        }
    }

    private static func same(_ name: UnsafeRawBufferPointer, _ lower: StaticString) -> Bool {
        // Names consist of token bytes only, for which `| 0x20` lower-cases letters and keeps `-` and digits; no other
        // token byte becomes a letter or `-`.
        let other = unsafe lower.utf8Start
        for index in 0..<name.count where unsafe name[index] | 0x20 != other[index] { return false }
        return true
    }
}

/// A set of known fields.
package struct KnownFields: Equatable, Sendable {
    private var bits: UInt32 = 0

    init() {}

    /// The given fields.
    package init(_ fields: KnownField...) {
        for field in fields { insert(field) }
    }

    /// Whether `field` is in the set.
    package func contains(_ field: KnownField) -> Bool { bits & (1 << UInt32(field.rawValue)) != 0 }

    /// Puts `field` in.
    mutating func insert(_ field: KnownField) { bits |= 1 << UInt32(field.rawValue) }

    /// Whether the sets have nothing in common.
    package func isDisjoint(with other: KnownFields) -> Bool { bits & other.bits == 0 }
}
