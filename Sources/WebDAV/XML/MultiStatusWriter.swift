internal import DirectoryRoot
internal import ServerCore

/// Writes the `response` elements of a multistatus, one resource after the other, into one buffer.
///
/// RFC 4918 §13, §14.24.
///
/// Ten thousand members pass through here for one request: nothing is allocated for an ordinary member.
struct MultiStatusWriter: ~Copyable {
    var xml: XMLWriter
    private let selection: PropertySelection
    private let isMinimal: Bool
    private let space: DiskSpace?
    private let prefix: [UInt8]
    private var dates = XMLDates()
    private var missing: [LiveProperty] = []
    /// Of the resource that comes next, by the names under which the share keeps them.
    var checksums: [String: [UInt8]] = [:]
    /// Of the collection that comes next; costs a walk, so it is there only when asked for alone.
    var syncToken: SyncToken?
    private var scratch: [UInt8] = []
    private var lastExtension: [UInt8] = []
    private var lastMediaType: [UInt8] = []

    /// What stands before the first `response`.
    static let begin: StaticString = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">"
    static let end: StaticString = "</D:multistatus>"

    init(_ selection: PropertySelection, isMinimal: Bool, prefix: String, space: DiskSpace?, capacity: Int) {
        xml = XMLWriter(capacity: capacity)
        self.selection = selection
        self.isMinimal = isMinimal
        self.space = space
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
        xml.append("<D:response><D:href>")
        appendHref(in: directory, name: name, isDirectory: attributes.isDirectory)
        xml.append("</D:href>")
        switch selection.form {
        case .names: appendNames(attributes, dead: dead)
        case .all, .named: appendValues(name, attributes, dead: dead, locks: locks)
        }
        xml.append("</D:response>")
    }

    /// Writes a resource that has only a status.
    mutating func append(
        _ place: Place, status: Status, condition: DAVError.Condition? = nil, hrefs: [Place] = []
    ) {
        xml.append("<D:response>")
        xml.appendHref(place, prefix: prefix)
        xml.appendStatus(status)
        if let condition {
            xml.append("<D:error>")
            DAVError.append(condition, hrefs: hrefs, prefix: prefix, to: &xml)
            xml.append("</D:error>")
        }
        xml.append("</D:response>")
    }

    private mutating func appendHref(in directory: [UInt8], name: ArraySlice<UInt8>, isDirectory: Bool) {
        xml.append(bytes: prefix)
        xml.append("/")
        xml.appendPath(directory)
        xml.appendPath(name)
        if isDirectory, !name.isEmpty { xml.append("/") }
    }

    private mutating func appendNames(_ attributes: FileAttributes, dead: [DeadProperty]) {
        xml.append("<D:propstat><D:prop>")
        for property in selection.live where property.exists(for: attributes) { xml.append(property.emptyElement) }
        for property in dead where LiveProperty(property.name) == nil {
            xml.append(bytes: PropertySelection.emptyElement(property.name))
        }
        xml.append("</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>")
    }

    private mutating func appendValues(
        _ name: ArraySlice<UInt8>, _ attributes: FileAttributes, dead: [DeadProperty], locks: [ShownLock]
    ) {
        missing.removeAll(keepingCapacity: true)
        let start = xml.count
        xml.append("<D:propstat><D:prop>")
        let empty = xml.count
        for property in selection.live {
            if !append(property, of: name, attributes, dead: dead, locks: locks) { missing.append(property) }
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

    /// Writes one live property with its value; false when the resource does not have it.
    private mutating func append(
        _ property: LiveProperty, of name: ArraySlice<UInt8>, _ attributes: FileAttributes, dead: [DeadProperty],
        locks: [ShownLock]
    ) -> Bool {
        switch property {
        case .creationdate:
            xml.append("<D:creationdate>")
            dates.appendInternet((attributes.created ?? attributes.modified).seconds, to: &xml)
            xml.append("</D:creationdate>")
        case .displayname:
            if !dead.isEmpty, let set = dead.first(where: { $0.name == property.name }) {
                append(set, attributes)
            } else {
                xml.append("<D:displayname>")
                xml.appendText(name)
                xml.append("</D:displayname>")
            }
        case .getcontentlength:
            guard !attributes.isDirectory else { return false }
            xml.append("<D:getcontentlength>")
            xml.append(number: attributes.size)
            xml.append("</D:getcontentlength>")
        case .getcontenttype:
            guard !attributes.isDirectory else { return false }
            xml.append("<D:getcontenttype>")
            appendMediaType(name)
            xml.append("</D:getcontenttype>")
        case .getetag:
            guard !attributes.isDirectory else { return false }
            xml.append("<D:getetag>")
            scratch.removeAll(keepingCapacity: true)
            attributes.entityTag.write(to: &scratch)
            xml.append(bytes: scratch)
            xml.append("</D:getetag>")
        case .getlastmodified:
            xml.append("<D:getlastmodified>")
            dates.appendHTTP(attributes.modified.seconds, to: &xml)
            xml.append("</D:getlastmodified>")
        case .resourcetype:
            xml.append(
                attributes.isDirectory
                    ? "<D:resourcetype><D:collection/></D:resourcetype>" : "<D:resourcetype/>")
        case .supportedlock: xml.append(Self.supportedLock)
        case .lockdiscovery:
            if locks.isEmpty {
                xml.append("<D:lockdiscovery/>")
            } else {
                xml.appendLockDiscovery(locks, prefix: prefix)
            }
        default: return appendUncommon(property, attributes, dead: dead)
        }
        return true
    }

    private mutating func appendUncommon(
        _ property: LiveProperty, _ attributes: FileAttributes, dead: [DeadProperty]
    ) -> Bool {
        switch property {
        case .quotaAvailableBytes:
            guard let space else { return false }
            xml.append("<D:quota-available-bytes>")
            xml.append(number: space.available)
            xml.append("</D:quota-available-bytes>")
        case .quotaUsedBytes:
            guard let space else { return false }
            xml.append("<D:quota-used-bytes>")
            xml.append(number: space.used)
            xml.append("</D:quota-used-bytes>")
        case .supportedReportSet:
            guard attributes.isDirectory else { return false }
            xml.append("<D:supported-report-set><D:supported-report><D:report><D:sync-collection/>")
            xml.append("</D:report></D:supported-report></D:supported-report-set>")
        case .ocIdentifier, .ocFileIdentifier:
            let isShort = property == .ocFileIdentifier
            xml.append(isShort ? "<oc:fileid" : "<oc:id")
            xml.append(" xmlns:oc=\"http://owncloud.org/ns\">")
            xml.append(number: Int64(truncatingIfNeeded: attributes.inode & 0x7FFF_FFFF_FFFF_FFFF))
            xml.append(isShort ? "</oc:fileid>" : "</oc:id>")
        case .ocPermissions:
            xml.append("<oc:permissions xmlns:oc=\"http://owncloud.org/ns\">")
            xml.append(attributes.isDirectory ? "RGDNVCK" : "RGDNVW")
            xml.append("</oc:permissions>")
        case .ocSize:
            guard !attributes.isDirectory else { return false }
            xml.append("<oc:size xmlns:oc=\"http://owncloud.org/ns\">")
            xml.append(number: attributes.size)
            xml.append("</oc:size>")
        case .ocChecksums:
            guard !checksums.isEmpty else { return false }
            xml.append("<oc:checksums xmlns:oc=\"http://owncloud.org/ns\"><oc:checksum>")
            xml.appendText(Array(OwnCloudChecksum.text(of: checksums).utf8))
            xml.append("</oc:checksum></oc:checksums>")
        case .syncToken:
            guard let syncToken else { return false }
            xml.append("<D:sync-token>")
            xml.append(bytes: syncToken.text.utf8)
            xml.append("</D:sync-token>")
        default: return false
        }
        return true
    }

    /// Writes a kept property, unless something else than this server has put there what is no element.
    private mutating func append(_ property: DeadProperty, _ attributes: FileAttributes) {
        if property.name == WindowsTime.modified {
            appendWindowsModified(attributes)
        } else if property.isWellFormed {
            xml.append(bytes: property.xml)
        }
    }

    /// What Windows set once is what the file says today.
    private mutating func appendWindowsModified(_ attributes: FileAttributes) {
        xml.append("<Z:Win32LastModifiedTime xmlns:Z=\"urn:schemas-microsoft-com:\">")
        dates.appendHTTP(attributes.modified.seconds, to: &xml)
        xml.append("</Z:Win32LastModifiedTime>")
    }

    private mutating func appendMediaType(_ name: ArraySlice<UInt8>) {
        let dot = name.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
        let suffix = name[dot...]
        if lastMediaType.isEmpty || !suffix.elementsEqual(lastExtension) {
            lastExtension = Array(suffix)
            lastMediaType = Array(FileResponder.mediaType(of: name).utf8)
        }
        xml.append(bytes: lastMediaType)
    }

    private static let supportedLock: StaticString = """
        <D:supportedlock><D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>\
        </D:lockentry><D:lockentry><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype>\
        </D:lockentry></D:supportedlock>
        """
}

extension XMLWriter {
    /// A `status` element.
    mutating func appendStatus(_ status: Status) {
        append("<D:status>HTTP/1.1 ")
        append(number: Int64(status.code))
        append(" ")
        append(bytes: status.reason.utf8)
        append("</D:status>")
    }

    /// A `lockdiscovery` element.
    ///
    /// RFC 4918 §15.8.
    mutating func appendLockDiscovery(_ locks: [ShownLock], prefix: [UInt8]) {
        append("<D:lockdiscovery>")
        for shown in locks {
            let lock = shown.lock
            append("<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope>")
            append(lock.isExclusive ? "<D:exclusive/>" : "<D:shared/>")
            append("</D:lockscope><D:depth>")
            append(lock.isRecursive ? "infinity" : "0")
            append("</D:depth>")
            append(bytes: lock.owner)
            append("<D:timeout>Second-")
            append(number: max(0, lock.timeLeft.components.seconds))
            append("</D:timeout><D:locktoken><D:href>")
            appendText(Array(lock.token.uri.utf8)[...])
            append("</D:href></D:locktoken><D:lockroot>")
            appendHref(shown.root, prefix: prefix)
            append("</D:lockroot></D:activelock>")
        }
        append("</D:lockdiscovery>")
    }
}
