/// Why an operation on the share did not happen; a service turns it into a status.
public enum RootError: Error, Equatable, Sendable {
    /// No such name, or one that this requester's rights, a hidden-name rule or the sandbox makes invisible.
    case notFound
    /// The name is taken and nothing may be replaced.
    case exists
    /// The directory that would hold the name does not exist (409 in WebDAV terms).
    case parentMissing
    /// A directory is where a file was asked for.
    case isDirectory
    /// A file is where a directory was asked for.
    case notDirectory
    /// A name or path that this file system cannot hold: too long, or refused bytes.
    case invalidName
    /// The requester's rights, a policy (`--no-delete`, `--no-overwrite`) or the file system's permissions refuse.
    case forbidden
    /// A new file's name must end in one of these extensions (`--allow-extensions`), which have no dot.
    case endingRefused(allowed: [String])
    /// The whole share, or the file system below it, is read-only.
    case readOnly
    /// A lock whose token was not submitted covers the named resources.
    case locked([SharePath])
    /// A condition of the caller (`If-Match`, `Overwrite: F`, …) does not hold.
    case preconditionFailed
    /// The root itself, or a place inside the source, can't be the target of this operation.
    case selfReference
    /// A symbolic link would lead to something else from its new place, or nowhere.
    case leadsElsewhere
    /// It can't be kept in the trash, which is on another file system.
    case otherDisk
    /// No free space on the disk, within the quota or above `--min-free-space`.
    case noSpace
    /// More bytes than were announced, or than the file system or the process's limit allows in a file.
    case tooLarge
    /// More bytes than this, the most that an upload may have (`--max-upload-size`).
    case overLimit(Int64)
    /// A limit shared by all requesters is reached: on uploads, locks or descriptors, on concurrent operations, or on the
    /// memory for them. Trying again later may work.
    case tooMany
    /// Another process, on this machine or another one, holds or keeps changing the share's state (`.shareserve`).
    /// Trying again later may work.
    case busy
    /// The source of a move was written to meanwhile, or other programs took the target's name each time. Nothing was
    /// changed; trying again may work.
    case changedMeanwhile
    /// Somebody else has resumed this upload, or has removed it.
    case takenOver
    /// A collection holds more than can be compared with an earlier state of it.
    case collectionTooLarge
    /// The requester has as many unfinished uploads as there are places left for everybody; finishing or removing one
    /// helps.
    case tooManyUploads
    /// The requester holds the most locks that one user may, or those take the most bytes; ending some helps.
    case tooManyLocks
    /// The requester has as many share links as there are places left for everybody; ending some helps.
    case tooManyLinks
    /// The properties of a resource would be too many, or too large: ``PropertyChange``.
    case tooManyProperties
    /// The shared directory itself was removed, and none is at its path, so nothing is known about its members.
    case rootGone
    /// The operation would have to wait for the disk; only thrown by calls that were told not to wait.
    case wouldBlock
    /// A lock token, upload or other state that the caller named is unknown or has expired.
    case unknownToken
    /// Anything else; logged, never sent to a client.
    case system(FailedCall)

    /// A failed system call that no other case stands for.
    /// - Parameters:
    ///   - errno: its positive number.
    ///   - call: the call's name, for the log.
    ///   - file: the state file that it was about, for the log; nil for anything else.
    /// - Returns: the error that holds all of it.
    package static func system(errno: Int32, call: StaticString, file: String? = nil) -> RootError {
        .system(FailedCall(errno: errno, call: call, file: file))
    }

    /// Whether a walk that met this error at a name continues without it: the name vanished, became something else, or
    /// is not visible to this requester.
    ///
    /// Any other error must end the walk, so that what could not be examined is not taken for missing.
    package var meansAbsent: Bool {
        switch self {
        case .notFound, .notDirectory, .forbidden, .invalidName: true
        default: false
        }
    }

    /// Whether a lookup in a directory that is itself gone may give this error.
    var mayTellOfTheRoot: Bool {
        switch self {
        case .notFound: true
        case .system(let failed): RootHome.tellsOfNobody(-failed.errno)
        default: false
        }
    }
}

/// A system call that failed; equal to any other that failed for the same reason.
public struct FailedCall: Equatable, Sendable {
    /// The reason: a positive number of `errno.h`.
    public let errno: Int32
    /// The call's name, or what it was for.
    public let call: StaticString
    /// The file inside the share's state folder that it was about; nil for anything else.
    public let file: String?

    /// The same `errno`, whatever was called.
    public static func == (one: FailedCall, other: FailedCall) -> Bool { one.errno == other.errno }
}

/// One member of a tree operation that failed, for a 207 response.
public struct MemberFailure: Error, Equatable, Sendable {
    /// The member's path, relative to where the operation's own paths begin.
    public let path: SharePath
    /// Why it failed.
    public let error: RootError

    /// A member and its error.
    public init(path: SharePath, error: RootError) {
        self.path = path
        self.error = error
    }
}
