import CSyscalls

extension RootError {
    /// What a failed system call on the share's own state means.
    ///
    /// Nothing about the path that a client asked for, unlike ``init(_:_:)``: a link or a folder in place of a state
    /// file must not tell a client that its own file is missing, or is a folder.
    /// - Parameters:
    ///   - result: the call's result, a negative `errno`.
    ///   - call: the call's name, for the log.
    ///   - file: the name of the file or folder inside the state folder, for the log.
    init(ofState result: some BinaryInteger, _ call: StaticString, _ file: String) {
        let code = 0 - Int32(truncatingIfNeeded: result)
        self =
            switch code {
            case ENOSPC, EDQUOT: .noSpace
            case EROFS: .readOnly
            case EMFILE, ENFILE: .tooMany
            default: .system(errno: code, call: call, file: file)
            }
    }

    /// A state file that does not hold what this program would have written, or something else in its place.
    static func damaged(_ file: String) -> RootError {
        .system(errno: EBADMSG, call: "read a damaged state file", file: file)
    }

    /// Whether it is ``damaged(_:)``.
    var isDamage: Bool {
        guard case .system(let failed) = self else { return false }
        return failed.errno == EBADMSG
    }
}

/// As ``check(_:_:)``, for a call on a file or folder inside the state folder.
@discardableResult
func checkState<Answer: SignedInteger>(
    _ result: Answer, _ call: StaticString, _ file: String
) throws(RootError) -> Answer {
    guard result >= 0 else { throw RootError(ofState: result, call, file) }
    return result
}
