/// The header fields of an answer, in order.
///
/// A line whose name is not a token, or whose value holds a byte that a field cannot carry (CR, LF, NUL and the other
/// controls), is left out: nothing that came from a request or a file name can split an answer. RFC 9110 §5.1, §5.5.
public struct ResponseFields: Sendable, ExpressibleByDictionaryLiteral {
    /// The lines as they will be sent.
    public private(set) var lines: [(name: String, value: String)]

    /// The given lines, in their order.
    public init(dictionaryLiteral elements: (String, String)...) {
        lines = []
        lines.reserveCapacity(elements.count + Self.usual)
        for (name, value) in elements { add(name, value) }
    }

    /// No lines yet, and room for so many.
    package init(capacity: Int) {
        lines = []
        lines.reserveCapacity(capacity)
    }

    /// Lines that an answer gets on its way.
    private static let usual = 4

    /// Adds all lines of `other`, which have been looked at.
    mutating func add(_ other: ResponseFields) { lines.append(contentsOf: other.lines) }

    /// Adds a line, after those of the same name.
    /// - Parameters:
    ///   - name: a token; letters of either case.
    ///   - value: without CR, LF or other controls but the tab.
    public mutating func add(_ name: String, _ value: String) {
        guard Self.isName(name), Self.isValue(value) else { return }
        lines.append((name, value))
    }

    /// The first value; setting replaces every line of that name where the first one stood (nil removes them).
    public subscript(name: String) -> String? {
        get { lines.first { Self.sameName($0.name, name) }?.value }
        set {
            guard let place = lines.firstIndex(where: { Self.sameName($0.name, name) }) else {
                if let newValue { add(name, newValue) }
                return
            }
            lines.removeAll { Self.sameName($0.name, name) }
            guard let newValue, Self.isName(name), Self.isValue(newValue) else { return }
            lines.insert((name, newValue), at: place)
        }
    }

    /// Whether there is a line of that name.
    public func contains(_ name: String) -> Bool {
        lines.contains { Self.sameName($0.name, name) }
    }

    /// Adds a member to a list field (`Vary`, `Allow`, …), unless it is there already.
    /// - Parameters:
    ///   - name: the field.
    ///   - member: one token of its comma-separated list.
    public mutating func merge(_ name: String, _ member: String) {
        guard let present = self[name] else { return add(name, member) }
        let isThere = present.utf8.split(separator: UInt8(ascii: ",")).contains {
            ASCII.equalIgnoringCase(ASCII.trimmed($0), member.utf8)
        }
        if !isThere { self[name] = present + ", " + member }
    }

    private static func sameName(_ a: String, _ b: String) -> Bool {
        guard a.utf8.count == b.utf8.count else { return false }
        let found = unsafe a.utf8.withContiguousStorageIfAvailable { a in
            unsafe b.utf8.withContiguousStorageIfAvailable { b in unsafe ASCII.equalIgnoringCase(a, b) }
        }
        return found.flatMap { $0 } ?? ASCII.equalIgnoringCase(a.utf8, b.utf8)
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && all(of: name) { ASCII.isToken($0) }
    }

    private static func isValue(_ value: String) -> Bool {
        all(of: value) { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }

    /// Looks at the bytes where they lie; the string's own iterator takes several times as long.
    @inline(__always)
    private static func all(of text: String, _ holds: (UInt8) -> Bool) -> Bool {
        let found = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in unsafe bytes.allSatisfy(holds) }
        return found ?? text.utf8.allSatisfy(holds)
    }
}
