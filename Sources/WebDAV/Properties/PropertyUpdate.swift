internal import DirectoryRoot
internal import ServerCore

/// The body of a PROPPATCH, separated into properties to store, file times to set, and refusals.
///
/// RFC 4918 §14.19.
struct PropertyUpdate: Sendable {
    /// Every property that is named, in document order, each once.
    private(set) var names: [PropertyName] = []
    private(set) var changes: [PropertyChange] = []
    private(set) var modified: Timestamp?
    private(set) var accessed: Timestamp?
    /// By the names under which the share stores them.
    private(set) var checksums: [String: [UInt8]] = [:]
    private(set) var refusals: [(name: PropertyName, status: Status)] = []

    /// - Throws: 400 when it is not a `propertyupdate`.
    init(_ root: XMLElement, of target: FileAttributes) throws(HTTPError) {
        guard root.isDAV("propertyupdate") else { throw DAVBody.notUnderstood }
        var seen: Set<PropertyName> = []
        var isInstruction = false
        for instruction in root.elements {
            let isSet = instruction.isDAV("set")
            guard isSet || instruction.isDAV("remove") else { continue }
            for list in instruction.elements where list.isDAV("prop") {
                isInstruction = true
                for property in list.elements {
                    if seen.insert(property.name).inserted { names.append(property.name) }
                    if isSet { set(property, of: target) } else { remove(property.name) }
                }
            }
        }
        guard isInstruction else { throw DAVBody.notUnderstood }
    }

    private mutating func set(_ element: XMLElement, of target: FileAttributes) {
        let name = element.name
        if WindowsTime.isModified(name) || name == WindowsTime.accessed {
            guard let time = WindowsTime.parse(element.text) else {
                refusals.append((name, .conflict))
                return
            }
            if name == WindowsTime.accessed { accessed = time } else { modified = time }
            // The RFC's own properties are computed from the file; Microsoft's are also stored and listed like any
            // other.
            guard name.namespace != "DAV:" else { return }
        }
        if LiveProperty(name) == .ocChecksums, !target.isDirectory {
            let sums = (element.elements.first?.text ?? element.text).split { $0.isWhitespace }
            for sum in sums.compactMap({ OwnCloudChecksum($0) }) {
                if let algorithm = sum.algorithm { checksums[algorithm.rawValue] = sum.value }
            }
            return
        }
        guard !Self.isProtected(name) else {
            refusals.append((name, .forbidden))
            return
        }
        let xml = XMLFragment.bytes(of: element)
        guard xml.count <= DeadProperty.mostBytes else {
            refusals.append((name, .insufficientStorage))
            return
        }
        changes.append(.set(DeadProperty(name: name, xml: xml)))
    }

    private mutating func remove(_ name: PropertyName) {
        guard !Self.isProtected(name), !(name.namespace == "DAV:" && WindowsTime.isModified(name)) else {
            refusals.append((name, .forbidden))
            return
        }
        changes.append(.remove(name))
    }

    /// Whether only the server sets it; a display name that a client sets is stored.
    private static func isProtected(_ name: PropertyName) -> Bool {
        guard let live = LiveProperty(name) else { return false }
        return live != .displayname && live != .ocChecksums
    }
}
