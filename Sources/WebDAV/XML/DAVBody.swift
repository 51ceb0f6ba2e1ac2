internal import ServerCore

/// The XML body of a request.
enum DAVBody {
    static let notUnderstood = HTTPError(.badRequest, "The XML of the request body is not what this method takes.")

    /// The root element of a body.
    /// - Throws: 400 when the body cannot be read.
    static func read(_ body: [UInt8], charset: String?, maxDepth: Int = XMLBounds.maxDepth) throws(HTTPError)
        -> XMLElement
    {
        do {
            return try XMLReader.read(body, charset: charset, maxDepth: maxDepth)
        } catch {
            switch error {
            case .malformed: throw HTTPError(.badRequest, "The request body is not well-formed XML.")
            case .namespace: throw HTTPError(.badRequest, "A namespace in the XML of the request body is no URI.")
            case .documentType: throw HTTPError(.badRequest, "A document type is not accepted in a request body.")
            case .tooComplex: throw HTTPError(.badRequest, "The XML of the request body is too deep or too wide.")
            case .encoding: throw HTTPError(.badRequest, "Send the XML of the request body as UTF-8.")
            }
        }
    }

    /// The `charset` parameter of the Content-Type; nil without one.
    static func charset(of request: Request) -> String? {
        guard let type = request.fields["content-type"] else { return nil }
        for parameter in type.split(separator: ";").dropFirst() {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].trimmingBlanks.lowercased() == "charset" else { continue }
            let value = pair[1].trimmingBlanks.filter { $0 != "\"" && $0 != "'" }
            return value.isEmpty ? nil : value
        }
        return nil
    }
}
