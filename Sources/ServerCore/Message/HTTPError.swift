public import DirectoryRoot

/// An error with a status and a message for a person; when a handler throws it, it becomes the response.
public struct HTTPError: Error, Sendable {
    /// The status of the response.
    public var status: Status
    /// Tells the person what to do; sent as plain text.
    public var message: String
    /// Additional response fields.
    public var fields: ResponseFields
    /// The failed system call that caused this, for the log only; kept whatever is added to the response.
    package private(set) var cause: RootError?

    /// A refusal.
    /// - Parameters:
    ///   - status: 4xx or 5xx.
    ///   - message: one line that tells what to do.
    ///   - fields: additional response fields.
    public init(_ status: Status, _ message: String, fields: ResponseFields = [:]) {
        self.status = status
        self.message = message
        self.fields = fields
    }

    /// A refusal that does not last: 503.
    /// - Parameters:
    ///   - message: one line that says what to do.
    ///   - seconds: after which trying again may work, as RFC 9110 §10.2.3 has it.
    package init(_ message: String, retryAfter seconds: Int) {
        self.init(.serviceUnavailable, message, fields: ["Retry-After": String(seconds)])
    }

    /// The error that `error` is answered with; nil when it has none.
    package init?(of error: any Error) {
        switch error {
        case let error as HTTPError: self = error
        case let error as RootError: self.init(error)
        default: return nil
        }
    }

    /// The single mapping from file errors to statuses, for all handlers.
    ///
    /// A handler that needs another status (405 for MKCOL on an existing name or PUT on a folder, 412 for
    /// `Overwrite: F`) catches that case first.
    public init(_ error: RootError) {
        switch error {
        case .notFound: self.init(.notFound, "There is nothing at this address.")
        case .exists: self.init(.conflict, "The name is taken. Choose another one, or ask to replace it.")
        case .parentMissing: self.init(.conflict, "The folder that should hold this does not exist. Create it first.")
        case .isDirectory: self.init(.conflict, "A folder has this name already. Choose another one.")
        case .notDirectory: self.init(.conflict, "A file is where a folder is needed.")
        case .invalidName: self.init(.badRequest, "The disk cannot hold this name. Choose a shorter or simpler one.")
        case .forbidden:
            self.init(
                .forbidden,
                "You may not do this here: the server's rules, or the permissions on its disk, do not allow it.")
        case .endingRefused(let allowed):
            self.init(.forbidden, "A new file's name must end in \(Self.choice(of: allowed)) here.")
        case .readOnly: self.init(.forbidden, "This share is read-only.")
        case .locked: self.init(.locked, "Someone else is working on this. Try again when the lock is gone.")
        case .preconditionFailed:
            self.init(.preconditionFailed, "It has changed meanwhile, or is not as you asked. Reload and try again.")
        case .selfReference:
            self.init(.forbidden, "The shared folder itself, or a place inside the source, can't be the target.")
        case .leadsElsewhere:
            self.init(.forbidden, "This is a link, and leads elsewhere from there. Move what it leads to, or copy it.")
        case .otherDisk:
            self.init(.conflict, "The trash is on another disk, and can't keep this. Use “Delete forever”.")
        case .noSpace: self.init(.insufficientStorage, "The disk has no room for this. Free some space and try again.")
        case .tooLarge: self.init(.contentTooLarge, "This is larger than the server takes.")
        case .overLimit(let most):
            self.init(.contentTooLarge, "A file may have at most \(Self.size(most)) here.")
        case .tooMany: self.init("Too much is going on at once. Try again in a few seconds.", retryAfter: 5)
        case .busy:
            self.init("Another server of this share is at work on it. Try again in a few seconds.", retryAfter: 5)
        case .changedMeanwhile:
            self.init("Someone else changed it meanwhile. Try again in a few seconds.", retryAfter: 5)
        case .takenOver: self.init("Someone else goes on with this upload, or has removed it.", retryAfter: 5)
        case .tooManyProperties:
            self.init(
                .insufficientStorage,
                "A file or folder can have 1,000 properties here, of 64 KiB each and 1 MiB in all.")
        case .collectionTooLarge: self.init(.insufficientStorage, "This folder holds too much for this.")
        case .tooManyUploads:
            self.init(
                .tooManyRequests,
                "You have too many unfinished uploads for others to find a place. Finish or remove one, and try again.",
                fields: ["Retry-After": "60"])
        case .tooManyLinks:
            self.init(
                .tooManyRequests, "There are too many share links. End some that nobody needs, and try again.",
                fields: ["Retry-After": "60"])
        case .tooManyLocks:
            self.init(
                "You hold as many locks as one user may: unlock something, or have --max-locks-per-user raised.",
                retryAfter: 5)
        case .rootGone: self.init("The shared directory is not there at the moment.", retryAfter: 5)
        case .wouldBlock: self.init("The disk is busy. Try again in a second.", retryAfter: 1)
        case .unknownToken: self.init(.notFound, "This is over, or was never here.")
        case .system:
            self.init(.internalServerError, "The server's disk failed. Ask the administrator.")
            cause = error
        }
    }

    /// A number of bytes in the largest unit in which it is an integer.
    private static func size(_ bytes: Int64) -> String {
        for (power, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")]
        where bytes != 0 && bytes.trailingZeroBitCount >= power { return "\(bytes >> power) \(unit)" }
        return "\(bytes) bytes"
    }

    /// The extensions in words, as in `.jpg, .png or .gif`; only the first of many, so that it stays one line.
    private static func choice(of endings: [String]) -> String {
        let shown = endings.prefix(20).map { ".\($0)" }
        guard shown.count == endings.count else { return shown.joined(separator: ", ") + ", …" }
        guard let last = shown.last, shown.count > 1 else { return shown.joined() }
        return "\(shown.dropLast().joined(separator: ", ")) or \(last)"
    }
}

/// Errors that connections of both protocols use.
extension HTTPError {
    static var addressTooLong: HTTPError {
        HTTPError(.uriTooLong, "The address of this request is longer than the server takes.")
    }

    static var headTooLarge: HTTPError {
        HTTPError(.headerFieldsTooLarge, "The head of this request is larger than the server takes.")
    }

    static var bodyTooLarge: HTTPError {
        HTTPError(.contentTooLarge, "The body of this request is larger than the server takes.")
    }

    static var shuttingDown: HTTPError {
        HTTPError("The server is shutting down. Try again in a few seconds.", retryAfter: 5)
    }

    static var noThread: HTTPError {
        HTTPError("The server has no thread for this at the moment. Try again in a few seconds.", retryAfter: 5)
    }

    static var bodyBrokenOff: HTTPError { HTTPError(.badRequest, "The connection ended within the body.") }
}

extension Response {
    /// The response for `error`.
    public init(_ error: HTTPError) {
        self = .text(error.status, error.message)
        for line in error.fields.lines { fields[line.name] = line.value }
    }
}
