/// A status code.
///
/// RFC 9110 §15, RFC 4918 §11.
public struct Status: Hashable, Sendable {
    /// Three digits.
    public let code: Int

    /// The status with that code.
    public init(code: Int) { self.code = code }

    /// Whether a response with this status has a body at all.
    ///
    /// RFC 9110 §6.4.1.
    var allowsBody: Bool { code >= 200 && code != 204 && code != 304 }

    /// 100 Continue.
    static let `continue` = Status(code: 100)
    /// 102 Processing.
    ///
    /// RFC 2518 §10.1.
    static let processing = Status(code: 102)
    /// 200 OK.
    public static let ok = Status(code: 200)
    /// 201 Created.
    public static let created = Status(code: 201)
    /// 204 No Content.
    public static let noContent = Status(code: 204)
    /// 206 Partial Content.
    public static let partialContent = Status(code: 206)
    // swift-format-ignore: DontRepeatTypeInStaticProperties
    /// 207 Multi-Status.
    public static let multiStatus = Status(code: 207)
    /// 303 See Other.
    public static let seeOther = Status(code: 303)
    /// 304 Not Modified.
    public static let notModified = Status(code: 304)
    /// 307 Temporary Redirect.
    public static let temporaryRedirect = Status(code: 307)
    /// 308 Permanent Redirect.
    public static let permanentRedirect = Status(code: 308)
    /// 400 Bad Request.
    public static let badRequest = Status(code: 400)
    /// 401 Unauthorized.
    public static let unauthorized = Status(code: 401)
    /// 403 Forbidden.
    public static let forbidden = Status(code: 403)
    /// 404 Not Found.
    public static let notFound = Status(code: 404)
    /// 405 Method Not Allowed.
    public static let methodNotAllowed = Status(code: 405)
    /// 406 Not Acceptable.
    public static let notAcceptable = Status(code: 406)
    /// 408 Request Timeout.
    public static let requestTimeout = Status(code: 408)
    /// 409 Conflict.
    public static let conflict = Status(code: 409)
    /// 410 Gone.
    public static let gone = Status(code: 410)
    /// 411 Length Required.
    public static let lengthRequired = Status(code: 411)
    /// 412 Precondition Failed.
    public static let preconditionFailed = Status(code: 412)
    /// 413 Content Too Large.
    public static let contentTooLarge = Status(code: 413)
    /// 414 URI Too Long.
    public static let uriTooLong = Status(code: 414)
    /// 415 Unsupported Media Type.
    public static let unsupportedMediaType = Status(code: 415)
    /// 416 Range Not Satisfiable.
    public static let rangeNotSatisfiable = Status(code: 416)
    /// 417 Expectation Failed.
    public static let expectationFailed = Status(code: 417)
    /// 421 Misdirected Request.
    public static let misdirectedRequest = Status(code: 421)
    /// 423 Locked.
    public static let locked = Status(code: 423)
    /// 424 Failed Dependency.
    public static let failedDependency = Status(code: 424)
    /// 429 Too Many Requests.
    public static let tooManyRequests = Status(code: 429)
    /// 431 Request Header Fields Too Large.
    public static let headerFieldsTooLarge = Status(code: 431)
    /// 500 Internal Server Error.
    public static let internalServerError = Status(code: 500)
    /// 501 Not Implemented.
    public static let notImplemented = Status(code: 501)
    /// 502 Bad Gateway.
    public static let badGateway = Status(code: 502)
    /// 503 Service Unavailable.
    public static let serviceUnavailable = Status(code: 503)
    /// 505 HTTP Version Not Supported.
    public static let httpVersionNotSupported = Status(code: 505)
    /// 507 Insufficient Storage.
    public static let insufficientStorage = Status(code: 507)
}
