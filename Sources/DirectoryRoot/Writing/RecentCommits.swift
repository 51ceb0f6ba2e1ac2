import Synchronization

/// Which files got their names lately through this process, and in which order.
///
/// Times can't tell whether a file came before or after a request: a disk's are as coarse as two seconds, another
/// machine's clock differs, and clocks are set back. So commits are numbered, and a request remembers the number of the
/// last one before it.
package final class RecentCommits: Sendable {
    /// A moment in the order of all commits of this process.
    package struct Moment: Sendable {
        fileprivate let number: UInt64

        /// After every commit that was answered before.
        package static var now: Moment { Moment(number: RecentCommits.last.load(ordering: .acquiring)) }
    }

    private struct Commit {
        let tag: EntityTag
        let number: UInt64
        let origin: UInt64
    }

    private struct State {
        var commits: [Commit] = []
        /// The one that is forgotten next.
        var oldest = 0
    }

    private static let kept = 1_024
    private static let last = Atomic<UInt64>(0)

    private let state = Mutex(State())

    /// Takes note that content has its name now; called before anybody is told so, and under the commit lock for what
    /// is not empty, so that who is about to replace it knows.
    /// - Parameters:
    ///   - tag: of the content.
    ///   - origin: who brought it; see ``Share/origin``.
    func note(_ tag: EntityTag, by origin: UInt64) {
        state.withLock { state in
            let number = Self.last.add(1, ordering: .acquiringAndReleasing).newValue
            let commit = Commit(tag: tag, number: number, origin: origin)
            if state.commits.count < Self.kept {
                state.commits.append(commit)
            } else {
                state.commits[state.oldest] = commit
                state.oldest = (state.oldest + 1) % Self.kept
            }
        }
    }

    /// Whether content got its name after a moment, and from somebody else.
    /// - Parameters:
    ///   - tag: of the content.
    ///   - moment: when the other request came.
    ///   - origin: where that came from; 0 is nobody's.
    /// - Returns: nil when it did not come through this process, or so many others came later that it is forgotten.
    package func hasCome(_ tag: EntityTag, after moment: Moment, exceptFrom origin: UInt64) -> Bool? {
        let commit = state.withLock { state in
            state.commits.filter { $0.tag == tag }.max { $0.number < $1.number }
        }
        return commit.map { $0.number > moment.number && ($0.origin == 0 || $0.origin != origin) }
    }
}
