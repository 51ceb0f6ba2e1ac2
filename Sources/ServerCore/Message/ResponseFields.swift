/// The header fields of a response, in order.
///
/// A line whose name is not a token, or whose value has a byte that a field can't contain (CR, LF, NUL and the other
/// control characters), is left out: nothing that comes from a request or a file name can split a response. RFC 9110
/// §5.1, §5.5.
public struct ResponseFields: Sendable, ExpressibleByDictionaryLiteral {
    /// The lines as they will be sent.
    public private(set) var lines: [(name: String, value: String)]

    /// The given lines, in order.
    public init(dictionaryLiteral elements: (String, String)...) {
        lines = []
        lines.reserveCapacity(elements.count + Self.usual)
        for (name, value) in elements { add(name, value) }
    }

    /// No lines, with capacity for `capacity` of them.
    package init(capacity: Int) {
        lines = []
        lines.reserveCapacity(capacity)
    }

    /// The number of lines that are usually added later.
    private static let usual = 4

    /// Adds all lines of `other`, which were already checked.
    mutating func add(_ other: ResponseFields) { lines.append(contentsOf: other.lines) }

    /// Adds a line, after those with the same name.
    /// - Parameters:
    ///   - name: a token; its case does not matter.
    ///   - value: without CR, LF or other control characters except the tab.
    public mutating func add(_ name: String, _ value: String) {
        guard Self.isName(name), Self.isValue(value) else { return }
        lines.append((name, value))
    }

    /// The first value; setting it replaces all lines of that name at the position of the first (nil removes them).
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

    /// Adds a member to a list field (`Vary`, `Allow`, …), unless it is already there.
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

    /// Examines the bytes in place; the string's own iterator takes several times as long.
    @inline(__always)
    private static func all(of text: String, _ holds: (UInt8) -> Bool) -> Bool {
        let found = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in unsafe bytes.allSatisfy(holds) }
        return found ?? text.utf8.allSatisfy(holds)
    }
}
