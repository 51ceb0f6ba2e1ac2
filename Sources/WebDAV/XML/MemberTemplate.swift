internal import DirectoryRoot

/// What the `response` elements of all ordinary files, or all ordinary folders, of one folder have in common: constant
/// markup, and the places of the values between it.
///
/// The members of a large folder are written with it, each by a few copies. The output is byte for byte that of
/// ``MultiStatusWriter`` without it; a test compares them.
final class MemberTemplate {
    /// What differs from member to member.
    enum Value {
        case address
        case name
        case created
        case size
        case mediaType
        case entityTag
        case modified
    }

    /// All constant parts, one after the other.
    let markup: [UInt8]
    /// The values in order, each with its offset in ``markup``.
    let values: [(place: Int, value: Value)]

    /// Nil if ordinary members' responses differ in more than values: if missing properties have to be reported, or
    /// properties are requested that no template has.
    /// - Parameters:
    ///   - selection: the properties asked for.
    ///   - folder: the address of the folder that holds the members, with its trailing slash, as it stands in an
    ///     `href`.
    ///   - isDirectory: whether the template is for folders.
    init?(_ selection: PropertySelection, in folder: [UInt8], isDirectory: Bool) {
        guard selection.form != .names, selection.dead.isEmpty else { return nil }
        var parts = Parts()
        parts.markup.reserveCapacity(folder.count + 1_024)
        parts.add("<D:response><D:href>")
        parts.markup += folder
        parts.add(.address)
        parts.add(isDirectory ? "/</D:href><D:propstat><D:prop>" : "</D:href><D:propstat><D:prop>")
        for property in selection.live {
            switch property {
            case .getcontentlength where isDirectory, .getcontenttype where isDirectory, .getetag where isDirectory:
                // An `allprop` leaves out properties that a resource does not have, instead of reporting them.
                guard selection.form == .all else { return nil }
            case .creationdate: parts.add(.created, in: property)
            case .displayname: parts.add(.name, in: property)
            case .getcontentlength: parts.add(.size, in: property)
            case .getcontenttype: parts.add(.mediaType, in: property)
            case .getetag: parts.add(.entityTag, in: property)
            case .getlastmodified: parts.add(.modified, in: property)
            case .resourcetype: parts.add(MultiStatusWriter.resourceType(isDirectory: isDirectory))
            case .supportedlock:
                parts.add(selection.isReadOnly ? property.emptyElement : MultiStatusWriter.supportedLock)
            case .lockdiscovery: parts.add(property.emptyElement)
            default: return nil
            }
        }
        parts.add("</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>")
        markup = parts.markup
        values = parts.values
    }

    private struct Parts {
        var markup: [UInt8] = []
        var values: [(place: Int, value: Value)] = []

        mutating func add(_ text: StaticString) {
            text.withUTF8Buffer { unsafe markup.append(contentsOf: $0) }
        }

        mutating func add(_ value: Value) {
            values.append((markup.count, value))
        }

        /// Adds the element of a property, whose empty form is `<D:name/>`.
        mutating func add(_ value: Value, in property: LiveProperty) {
            property.emptyElement.withUTF8Buffer { empty in
                unsafe markup.append(contentsOf: empty.dropLast(2))
                markup.append(UInt8(ascii: ">"))
                add(value)
                markup += "</".utf8
                unsafe markup.append(contentsOf: empty.dropFirst().dropLast(2))
                markup.append(UInt8(ascii: ">"))
            }
        }
    }
}

extension MultiStatusWriter {
    /// Writes a member that has no dead properties and no locks with its template.
    mutating func append(
        _ template: MemberTemplate, name: UnsafeBufferPointer<UInt8>, _ attributes: FileAttributes
    ) {
        unsafe template.markup.withUnsafeBufferPointer { markup in
            var written = 0
            // No iterator, which would retain the values again for each member.
            for index in template.values.indices {
                let (place, value) = template.values[index]
                unsafe xml.append(bytes: UnsafeBufferPointer(rebasing: markup[written..<place]))
                written = place
                switch value {
                case .address: unsafe xml.appendPath(name)
                case .name: unsafe xml.appendText(name)
                case .created:
                    dates.appendInternet((attributes.created ?? attributes.modified).seconds, to: &xml)
                case .size: xml.append(number: attributes.size)
                case .mediaType: unsafe appendMediaType(name)
                case .entityTag: xml.append(attributes.entityTag)
                case .modified: dates.appendHTTP(attributes.modified.seconds, to: &xml)
                }
            }
            unsafe xml.append(bytes: UnsafeBufferPointer(rebasing: markup[written...]))
        }
    }
}
