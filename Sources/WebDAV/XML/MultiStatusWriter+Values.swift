internal import DirectoryRoot
internal import ServerCore

/// The values of properties, each in its element.
///
/// RFC 4918 §15.
extension MultiStatusWriter {
    /// Writes one live property with its value; false when the resource does not have it.
    mutating func append(
        _ property: LiveProperty, of name: UnsafeBufferPointer<UInt8>, _ attributes: FileAttributes,
        dead: [DeadProperty], locks: [ShownLock]
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
                unsafe xml.appendText(name)
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
            unsafe appendMediaType(name)
            xml.append("</D:getcontenttype>")
        case .getetag:
            guard !attributes.isDirectory else { return false }
            xml.append("<D:getetag>")
            xml.append(attributes.entityTag)
            xml.append("</D:getetag>")
        case .getlastmodified:
            xml.append("<D:getlastmodified>")
            dates.appendHTTP(attributes.modified.seconds, to: &xml)
            xml.append("</D:getlastmodified>")
        case .resourcetype: xml.append(Self.resourceType(isDirectory: attributes.isDirectory))
        case .supportedlock: xml.append(isReadOnly ? property.emptyElement : Self.supportedLock)
        case .lockdiscovery:
            if locks.isEmpty {
                xml.append("<D:lockdiscovery/>")
            } else {
                xml.appendLockDiscovery(locks, prefix: prefix)
            }
        default: return appendUncommon(property, attributes)
        }
        return true
    }

    private mutating func appendUncommon(_ property: LiveProperty, _ attributes: FileAttributes) -> Bool {
        switch property {
        case .quotaAvailableBytes:
            guard let space else { return false }
            xml.append("<D:quota-available-bytes>")
            xml.append(number: space.available)
            xml.append("</D:quota-available-bytes>")
        case .quotaUsedBytes:
            guard let space else { return false }
            xml.append("<D:quota-used-bytes>")
            // davix takes it for a file's size, and the RFC does not require it to count others' files too.
            xml.append(number: attributes.isDirectory ? space.used : attributes.size)
            xml.append("</D:quota-used-bytes>")
        case .supportedReportSet:
            guard attributes.isDirectory else { return false }
            guard !isReadOnly else {
                xml.append(property.emptyElement)
                return true
            }
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
            xml.append(isReadOnly ? "G" : attributes.isDirectory ? "RGDNVCK" : "RGDNVW")
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

    /// Writes a stored property, unless another program has stored something that is not an element.
    mutating func append(_ property: DeadProperty, _ attributes: FileAttributes) {
        if property.name == WindowsTime.modified {
            appendWindowsModified(attributes)
        } else if property.isWellFormed {
            xml.append(bytes: property.xml)
        }
    }

    /// Writes the file's modification time today as the property that Windows once set.
    mutating func appendWindowsModified(_ attributes: FileAttributes) {
        xml.append("<Z:Win32LastModifiedTime xmlns:Z=\"urn:schemas-microsoft-com:\">")
        dates.appendHTTP(attributes.modified.seconds, to: &xml)
        xml.append("</Z:Win32LastModifiedTime>")
    }

    /// Writes the media type for this name; most members of a folder have the same extension as the one before.
    mutating func appendMediaType(_ name: UnsafeBufferPointer<UInt8>) {
        var dot = name.count - 1
        while dot >= 0, unsafe name[dot] != UInt8(ascii: ".") { dot -= 1 }
        let suffix = unsafe UnsafeBufferPointer(rebasing: name[(dot < 0 ? name.count : dot)...])
        let isKnown = unsafe lastExtension.withUnsafeBufferPointer { last in
            var index = 0
            while index < last.count, index < suffix.count, unsafe last[index] == suffix[index] { index += 1 }
            return index == last.count && index == suffix.count
        }
        if !isKnown || lastMediaType.isEmpty {
            lastExtension = unsafe Array(suffix)
            lastMediaType = unsafe Array(FileResponder.mediaType(of: name).utf8)
        }
        xml.append(bytes: lastMediaType)
    }

    /// The element that tells collections from files.
    static func resourceType(isDirectory: Bool) -> StaticString {
        isDirectory ? "<D:resourcetype><D:collection/></D:resourcetype>" : "<D:resourcetype/>"
    }

    /// The same for every resource.
    static let supportedLock: StaticString = """
        <D:supportedlock><D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>\
        </D:lockentry><D:lockentry><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype>\
        </D:lockentry></D:supportedlock>
        """
}
