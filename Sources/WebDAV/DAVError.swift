internal import DirectoryRoot
internal import ServerCore

/// A refusal whose XML body names the precondition or postcondition that failed.
///
/// RFC 4918 §16.
struct DAVError: Error {
    enum Condition: Sendable {
        case lockTokenSubmitted
        case lockTokenMatchesRequestURI
        case noConflictingLock
        case propfindFiniteDepth
        case numberOfMatchesWithinLimits
        case validSyncToken
        case supportedReport
        case sufficientDiskSpace
    }

    var status: Status
    var condition: Condition
    var hrefs: [Place] = []
    /// A message for a person to read; empty for none.
    var message = ""

    /// The only mapping of errors about files to the responses of this service; errors not listed get the same response
    /// as in every other handler.
    ///
    /// Waits for the disk.
    static func response(to error: RootError, of request: Request) -> Response {
        let refusal = HTTPError(error)
        return switch error {
        case .locked(let roots):
            DAVError(
                status: refusal.status, condition: .lockTokenSubmitted,
                hrefs: roots.map { Place($0, in: request.share) }, message: refusal.message
            ).response(prefix: request.prefix)
        case .noSpace:
            DAVError(status: refusal.status, condition: .sufficientDiskSpace, message: refusal.message).response(
                prefix: request.prefix)
        default: Response(refusal)
        }
    }

    func response(prefix: String) -> Response {
        var xml = XMLWriter(capacity: 512)
        xml.append("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:error xmlns:D=\"DAV:\">")
        Self.append(condition, hrefs: hrefs, prefix: Array(prefix.utf8), to: &xml)
        if !message.isEmpty {
            // In SabreDAV's form: rclone and Nextcloud's clients show this message.
            xml.append("<s:message xmlns:s=\"http://sabredav.org/ns\">")
            xml.appendText(Array(message.utf8))
            xml.append("</s:message>")
        }
        xml.append("</D:error>")
        return Response(status, fields: ["Content-Type": xmlMediaType], body: .bytes(xml.take()))
    }

    /// Writes the condition's element, with the addresses that it is about.
    static func append(_ condition: Condition, hrefs: [Place], prefix: [UInt8], to xml: inout XMLWriter) {
        func element(_ open: StaticString, _ close: StaticString, _ xml: inout XMLWriter) {
            xml.append(open)
            for place in hrefs { xml.appendHref(place, prefix: prefix) }
            xml.append(close)
        }
        switch condition {
        case .lockTokenSubmitted: element("<D:lock-token-submitted>", "</D:lock-token-submitted>", &xml)
        case .noConflictingLock: element("<D:no-conflicting-lock>", "</D:no-conflicting-lock>", &xml)
        case .lockTokenMatchesRequestURI: xml.append("<D:lock-token-matches-request-uri/>")
        case .propfindFiniteDepth: xml.append("<D:propfind-finite-depth/>")
        case .numberOfMatchesWithinLimits: xml.append("<D:number-of-matches-within-limits/>")
        case .validSyncToken: xml.append("<D:valid-sync-token/>")
        case .supportedReport: xml.append("<D:supported-report/>")
        case .sufficientDiskSpace: xml.append("<D:sufficient-disk-space/>")
        }
    }
}

/// The Content-Type of every response in XML.
let xmlMediaType = "application/xml; charset=utf-8"
