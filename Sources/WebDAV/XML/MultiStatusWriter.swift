internal import DirectoryRoot
internal import ServerCore

/// Writes the `response` elements of a multistatus, one resource after the other, into one buffer.
///
/// RFC 4918 §13, §14.24.
///
/// One request may list ten thousand members: nothing is allocated for an ordinary member, and most are written with a
/// ``MemberTemplate``.
struct MultiStatusWriter: ~Copyable {
    var xml: XMLWriter
    private let selection: PropertySelection
    private let isMinimal: Bool
    private var missing: [LiveProperty] = []
    let space: DiskSpace?
    let isReadOnly: Bool
    let prefix: [UInt8]
    var dates = XMLDates()
    /// The checksums of the next resource, by the names under which the share stores them.
    var checksums: [String: [UInt8]] = [:]
    /// The token of the next collection; it costs a walk over the tree, so it is set only when requested by name.
    var syncToken: SyncToken?
    var lastExtension: [UInt8] = []
    var lastMediaType: [UInt8] = []

    /// The beginning, before the first `response`.
    static let begin: StaticString = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">"
    static let end: StaticString = "</D:multistatus>"

    init(_ selection: PropertySelection, isMinimal: Bool, prefix: String, space: DiskSpace?, capacity: Int) {
        xml = XMLWriter(capacity: capacity)
        self.selection = selection
        self.isMinimal = isMinimal
        self.space = space
        isReadOnly = selection.isReadOnly
        self.prefix = Array(prefix.utf8)
    }

    /// Writes one resource with its properties.
    /// - Parameters:
    ///   - directory: the path of the folder that holds it, with a trailing slash, or empty for the root.
    ///   - name: its name there; empty for the target itself when that is the root.
    ///   - attributes: its attributes on the disk.
    ///   - dead: its dead properties; empty when they were not looked up.
    ///   - locks: the locks that cover it.
    mutating func append(
        in directory: [UInt8], name: ArraySlice<UInt8>, attributes: FileAttributes, dead: [DeadProperty],
        locks: [ShownLock]
    ) {
        unsafe name.withUnsafeBufferPointer { name in
            unsafe append(in: directory, name: name, attributes: attributes, dead: dead, locks: locks)
        }
    }

    /// The same without copying the name.
    mutating func append(
        in directory: [UInt8], name: UnsafeBufferPointer<UInt8>, attributes: FileAttributes, dead: [DeadProperty],
        locks: [ShownLock]
    ) {
        xml.append("<D:response><D:href>")
        unsafe appendHref(in: directory, name: name, isDirectory: attributes.isDirectory)
        xml.append("</D:href>")
        switch selection.form {
        case .names: appendNames(attributes, dead: dead)
        case .all, .named: unsafe appendValues(name, attributes, dead: dead, locks: locks)
        }
        xml.append("</D:response>")
    }

    /// Writes a resource with only a status.
    mutating func append(
        _ place: Place, status: Status, condition: DAVError.Condition? = nil, hrefs: [Place] = [],
        description: StaticString? = nil
    ) {
        xml.append("<D:response>")
        xml.appendHref(place, prefix: prefix)
        xml.appendStatus(status)
        if let condition {
            xml.append("<D:error>")
            DAVError.append(condition, hrefs: hrefs, prefix: prefix, to: &xml)
            xml.append("</D:error>")
        }
        if let description {
            xml.append("<D:responsedescription>")
            xml.append(description)
            xml.append("</D:responsedescription>")
        }
        xml.append("</D:response>")
    }

    /// The templates of the files and of the folders in a folder; nil for those whose responses differ in more than
    /// values.
    func templates(in directory: [UInt8]) -> (files: MemberTemplate?, folders: MemberTemplate?) {
        var address = XMLWriter(capacity: directory.count * 3 + prefix.count + 1)
        address.append(bytes: prefix)
        address.append("/")
        address.appendPath(directory)
        let folder = address.take()
        return (
            MemberTemplate(selection, in: folder, isDirectory: false),
            MemberTemplate(selection, in: folder, isDirectory: true)
        )
    }

    private mutating func appendHref(
        in directory: [UInt8], name: UnsafeBufferPointer<UInt8>, isDirectory: Bool
    ) {
        xml.append(bytes: prefix)
        xml.append("/")
        xml.appendPath(directory)
        unsafe xml.appendPath(name)
        if isDirectory, !name.isEmpty { xml.append("/") }
    }

    private mutating func appendNames(_ attributes: FileAttributes, dead: [DeadProperty]) {
        xml.append("<D:propstat><D:prop>")
        for property in selection.live where has(property, attributes) { xml.append(property.emptyElement) }
        for property in dead where LiveProperty(property.name) == nil {
            xml.append(bytes: PropertySelection.emptyElement(property.name))
        }
        // Every resource has it, but it is listed already if a client has set it.
        if !dead.contains(where: { $0.name == WindowsTime.modified }) {
            xml.append(bytes: PropertySelection.emptyElement(WindowsTime.modified))
        }
        xml.append("</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>")
    }

    /// Whether the resource has a value for this property.
    private func has(_ property: LiveProperty, _ attributes: FileAttributes) -> Bool {
        switch property {
        case .quotaAvailableBytes, .quotaUsedBytes: space != nil
        case .ocChecksums: !checksums.isEmpty
        case .syncToken: attributes.isDirectory && !isReadOnly
        default: property.exists(for: attributes)
        }
    }

    private mutating func appendValues(
        _ name: UnsafeBufferPointer<UInt8>, _ attributes: FileAttributes, dead: [DeadProperty], locks: [ShownLock]
    ) {
        missing.removeAll(keepingCapacity: true)
        let start = xml.count
        xml.append("<D:propstat><D:prop>")
        let empty = xml.count
        for property in selection.live {
            if unsafe !append(property, of: name, attributes, dead: dead, locks: locks) { missing.append(property) }
        }
        var missingDead: [Int] = []
        if selection.form == .all {
            for property in dead where LiveProperty(property.name) == nil { append(property, attributes) }
        }
        if !selection.dead.isEmpty {
            // For many properties and many names, a dictionary is built once.
            let byName =
                dead.count > 16 ? Dictionary(dead.map { ($0.name, $0) }) { first, _ in first } : nil
            for index in selection.dead.indices {
                let asked = selection.dead[index]
                if let property = byName.map({ $0[asked] }) ?? dead.first(where: { $0.name == asked }) {
                    if selection.form == .named { append(property, attributes) }
                } else if asked == WindowsTime.modified {
                    appendWindowsModified(attributes)
                } else {
                    missingDead.append(index)
                }
            }
        }
        // An `allprop` leaves out properties that a resource does not have, instead of reporting them.
        let reportsMissing =
            !isMinimal && (!missingDead.isEmpty || selection.form == .named && !missing.isEmpty)
        if xml.count == empty, reportsMissing {
            xml.truncate(to: start)
        } else {
            xml.append("</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>")
        }
        guard reportsMissing else { return }
        xml.append("<D:propstat><D:prop>")
        if selection.form == .named { for property in missing { xml.append(property.emptyElement) } }
        for index in missingDead { xml.append(bytes: selection.emptyElements[index]) }
        xml.append("</D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>")
    }
}
