import CSyscalls

extension RootError {
    /// What a failed system call means for the caller.
    /// - Parameters:
    ///   - result: the call's result, a negative `errno`.
    ///   - call: the call's name, for the log.
    package init(_ result: some BinaryInteger, _ call: StaticString) {
        let code = result < 0 ? 0 - Int32(truncatingIfNeeded: result) : Int32(truncatingIfNeeded: result)
        self =
            switch code {
            // ELOOP and EXDEV: a link that leaves the root or dangles. ENXIO, ENODEV: a socket, a missing device.
            case ENOENT, ENOTDIR, ELOOP, EXDEV, ENXIO, ENODEV, ESTALE: .notFound
            case EEXIST, ENOTEMPTY: .exists
            case EISDIR: .isDirectory
            case ENAMETOOLONG, EILSEQ: .invalidName
            case EACCES, EPERM, EBUSY, ETXTBSY: .forbidden
            case EROFS: .readOnly
            case ENOSPC, EDQUOT: .noSpace
            case EFBIG, EOVERFLOW: .tooLarge
            case EMFILE, ENFILE: .tooMany
            case EAGAIN: .wouldBlock
            default: .system(errno: code, call: call)
            }
    }
}

/// Returns a system call's result, or throws what its negative `errno` means.
@discardableResult
package func check<Answer: SignedInteger>(_ result: Answer, _ call: StaticString) throws(RootError) -> Answer {
    guard result >= 0 else { throw RootError(result, call) }
    return result
}
