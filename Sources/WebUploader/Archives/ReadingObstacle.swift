import DirectoryRoot

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Why something that exists can't be put into an archive, now or later.
enum ReadingObstacle: UInt8, Sendable {
    /// The file system does not let the server's user read it.
    case permission
    /// It can't be opened: its disk is broken, or its key is missing.
    case failure
    /// It was moved, with its folder, to where its path is too long to be requested.
    case pathTooLong
    /// So many links lead to it that it is in the archive often enough: ``FollowedLinks``.
    case linkedTooOften

    /// Nil for an error that is no such reason, as when it vanished.
    /// - Throws: the error itself if nothing else could be opened either, for lack of descriptors or memory.
    init?(_ error: RootError) throws(RootError) {
        switch error {
        case .forbidden: self = .permission
        case .tooMany, .busy: throw error
        case .system(let failed) where failed.errno == ENOMEM: throw error
        case .system: self = .failure
        default: return nil
        }
    }

    /// In words for a person who has never seen the server.
    var explanation: StaticString {
        switch self {
        case .permission: "no permission"
        case .failure: "it can't be opened"
        case .pathTooLong: "its path is too long"
        case .linkedTooOften: "links lead to it over and over"
        }
    }
}
