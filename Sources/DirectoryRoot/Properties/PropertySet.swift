/// Everything that is stored with one resource: the clients' dead properties in the order in which they were first set,
/// and values that the server stores for itself.
///
/// Packed into one block of bytes, so that one call replaces all of it or nothing:
///
///     "SSP1" · sequence (8) · { kind (1) · { length (4) · bytes } × (3 for a property, 2 for a value) }
///
/// Numbers are little-endian.
struct PropertySet: Equatable, Sendable {
    /// Grows with every change: of two copies that a killed process left, the later one counts.
    var sequence: UInt64 = 0
    private(set) var dead: [DeadProperty] = []
    private(set) var values: [String: [UInt8]] = [:]

    static let mostProperties = 1_000
    /// The most bytes of the whole packed block.
    static let largest = 1 << 20

    init() {}

    var isEmpty: Bool { dead.isEmpty && values.isEmpty }

    /// Applies the changes in order, or none of them.
    ///
    /// Takes time in proportion to their number: a request may bring tens of thousands, and others wait meanwhile.
    /// - Throws: ``RootError/tooManyProperties``.
    mutating func apply(_ changes: [PropertyChange]) throws(RootError) {
        var kept: [DeadProperty?] = []
        var places: [PropertyName: Int] = [:]
        for property in dead where places[property.name] == nil {
            places[property.name] = kept.count
            kept.append(property)
        }
        for change in changes {
            switch change {
            case .set(let property):
                guard property.xml.count <= DeadProperty.mostBytes else { throw .tooManyProperties }
                if let place = places[property.name] {
                    kept[place] = property
                } else {
                    places[property.name] = kept.count
                    kept.append(property)
                }
            case .remove(let name):
                if let place = places.removeValue(forKey: name) { kept[place] = nil }
            }
        }
        guard places.count <= Self.mostProperties else { throw .tooManyProperties }
        dead = kept.compactMap { $0 }
    }

    /// Sets or (nil) removes the server's own values.
    mutating func apply(_ changes: [String: [UInt8]?]) {
        for (name, value) in changes { values[name] = value }
    }

    // MARK: Bytes

    private static let magic = Array("SSP1".utf8)
    private static let deadKind: UInt8 = 1
    private static let valueKind: UInt8 = 2

    init(packed: [UInt8]) throws(DamagedState) {
        guard packed.starts(with: Self.magic) else { throw DamagedState() }
        var rest = packed.dropFirst(Self.magic.count)
        sequence = try Self.number(8, from: &rest)
        while let kind = rest.popFirst() {
            let name = try Self.field(from: &rest)
            let second = try Self.field(from: &rest)
            switch kind {
            case Self.valueKind:
                values[String(decoding: name, as: UTF8.self)] = Array(second)
            case Self.deadKind:
                let xml = try Self.field(from: &rest)
                let property = PropertyName(
                    namespace: String(decoding: name, as: UTF8.self), local: String(decoding: second, as: UTF8.self))
                dead.append(DeadProperty(name: property, xml: Array(xml)))
            default: throw DamagedState()
            }
        }
    }

    var packed: [UInt8] {
        var bytes = Self.magic
        Self.append(sequence, 8, to: &bytes)
        for property in dead {
            bytes.append(Self.deadKind)
            Self.append(Array(property.name.namespace.utf8), to: &bytes)
            Self.append(Array(property.name.local.utf8), to: &bytes)
            Self.append(property.xml, to: &bytes)
        }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            bytes.append(Self.valueKind)
            Self.append(Array(name.utf8), to: &bytes)
            Self.append(value, to: &bytes)
        }
        return bytes
    }

    private static func number(_ count: Int, from bytes: inout ArraySlice<UInt8>) throws(DamagedState) -> UInt64 {
        guard bytes.count >= count else { throw DamagedState() }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func field(from bytes: inout ArraySlice<UInt8>) throws(DamagedState) -> ArraySlice<UInt8> {
        let count = try number(4, from: &bytes)
        guard count <= UInt64(bytes.count) else { throw DamagedState() }
        defer { bytes = bytes.dropFirst(Int(count)) }
        return bytes.prefix(Int(count))
    }

    private static func append(_ number: UInt64, _ count: Int, to bytes: inout [UInt8]) {
        for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
    }

    private static func append(_ field: [UInt8], to bytes: inout [UInt8]) {
        append(UInt64(field.count), 4, to: &bytes)
        bytes += field
    }
}
