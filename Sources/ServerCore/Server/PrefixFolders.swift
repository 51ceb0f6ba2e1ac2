import DirectoryRoot

/// The folders above a path prefix, which contain nothing but the way to the share.
///
/// Clients start at the top: Windows asks about each parent of what it mounts, and others create the parents that they
/// do not find. RFC 4918 §5.1.
enum PrefixFolders {
    /// The response for such a folder.
    /// - Parameters:
    ///   - head: a request whose target is not below the prefix.
    ///   - prefix: `/a/b`.
    ///   - isReadOnly: whether the share is.
    /// - Returns: nil for all other places and methods.
    static func answer(_ head: RequestHeadView, above prefix: String, isReadOnly: Bool) -> Response? {
        var path = head.target.path
        while path.last == UInt8(ascii: "/") { path.removeLast() }
        guard let (here, next) = place(of: path, above: prefix) else { return nil }
        let allowed: ResponseFields = ["Allow": "OPTIONS, PROPFIND"]
        switch head.method {
        case .options:
            var fields = allowed
            fields.add("DAV", DAVClasses.field(isReadOnly: isReadOnly))
            fields.add("MS-Author-Via", "DAV")
            return Response(.ok, fields: fields)
        case .mkcol:
            return Response(HTTPError(.methodNotAllowed, "Something is at this address already.", fields: allowed))
        case .propfind:
            let listsMembers = head.fields["depth"] != "0"
            return multiStatus(listsMembers ? ["\(here)/", "\(next)/"] : ["\(here)/"])
        default: return nil
        }
    }

    /// The folder with this path (without trailing slashes), and the next one on the way to the share, as the prefix
    /// spells them.
    private static func place(of path: ArraySlice<UInt8>, above prefix: String) -> (here: String, next: String)? {
        var here = ""
        for name in prefix.split(separator: "/") {
            let next = "\(here)/\(name)"
            if RequestTarget.rest(of: path, below: here)?.isEmpty == true { return (here, next) }
            here = next
        }
        return nil
    }

    /// Reports each place as a folder, without any other properties.
    private static func multiStatus(_ places: [String]) -> Response {
        var xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">"
        for place in places {
            xml += """
                <D:response><D:href>\(escaped(place))</D:href><D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype>\
                </D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
                """
        }
        xml += "</D:multistatus>"
        return Response(
            .multiStatus, fields: ["Content-Type": "application/xml; charset=utf-8"], body: .bytes(Array(xml.utf8)))
    }

    private static func escaped(_ place: String) -> String {
        place.reduce(into: "") { text, character in
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            default: text.append(character)
            }
        }
    }
}
