internal import DirectoryRoot
internal import ServerCore

/// Writes the `response` elements of a multistatus, one resource after the other, into one buffer.
///
/// RFC 4918 §13, §14.24.
///
/// Ten thousand members pass through here for one request: nothing is allocated for an ordinary member, and most are
/// written by a ``MemberTemplate``.
struct MultiStatusWriter: ~Copyable {
    var xml: XMLWriter
    private let selection: PropertySelection
    private let isMinimal: Bool
    private var missing: [LiveProperty] = []
    let space: DiskSpace?
    let isReadOnly: Bool
    let prefix: [UInt8]
    var dates = XMLDates()
    /// Of the resource that comes next, by the names under which the share keeps them.
    var checksums: [String: [UInt8]] = [:]
    /// Of the collection that comes next; costs a walk, so it is there only when asked for alone.
    var syncToken: SyncToken?
    var lastExtension: [UInt8] = []
    var lastMediaType: [UInt8] = []

    /// What stands before the first `response`.
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
    ///   - directory: the path of the folder that holds it, with a last slash, or empty for the root.
    ///   - name: its name there; empty for the target itself when that is the root.
    ///   - attributes: what the disk says of it.
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

    /// The same with a name that is not copied.
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

    /// Writes a resource that has only a status.
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

    /// The templates of the files and of the folders in a folder; nil for those whose answers differ by more than
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
        // Answered for everything, as long as nobody has set it too.
        if !dead.contains(where: { $0.name == WindowsTime.modified }) {
            xml.append(bytes: PropertySelection.emptyElement(WindowsTime.modified))
        }
        xml.append("</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>")
    }

    /// Whether a resource, asked for this property alone, would answer with a value.
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
            // A resource with many properties, asked for many, is looked up once.
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
        // An `allprop` leaves out what a resource has not, instead of reporting it.
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
