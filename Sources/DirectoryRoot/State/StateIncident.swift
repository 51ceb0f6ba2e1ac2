import Synchronization

/// Something wrong with the share's state that a person should know of; nothing was lost silently.
public enum StateIncident: Equatable, Sendable, CustomStringConvertible {
    /// A state file did not hold what this program would have written; it stays where it is, or is kept under another
    /// name and counts as empty.
    case damagedFile(name: String, keptAs: String? = nil)
    /// `.shareserve` is not a directory that can be used, so there are no locks, properties or uploads.
    case unusableFolder(errno: Int32)
    /// A folder was moved, and the share links to it could not be changed.
    case linksLeftBehind

    /// One line for the log.
    public var description: String {
        switch self {
        case .damagedFile(let name, .some(let kept)): "state file \(name) was damaged and is kept as \(kept)"
        case .damagedFile(let name, .none): "state file \(name) is damaged"
        case .unusableFolder(let errno): ".shareserve in the shared directory can't be used (errno \(errno))"
        case .linksLeftBehind: "share links to a folder that was moved could not be changed: they lead to where it was"
        }
    }
}

/// The incidents since the last ``take()``; only the first hundred are kept.
///
/// A damaged file that stays where it is is reported once, however often it is met.
package final class StateIncidents: Sendable {
    private let waiting = Mutex<[StateIncident]>([])
    /// The names of damaged files that stay, of which as many are remembered.
    private let stays = Mutex<Set<String>>([])

    /// The incidents that were not taken yet.
    package func take() -> [StateIncident] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }

    func report(_ incident: StateIncident) {
        if case .damagedFile(let name, nil) = incident {
            let isNew = stays.withLock { $0.count >= 1_000 || $0.insert(name).inserted }
            guard isNew else { return }
        }
        waiting.withLock { if $0.count < 100 && !$0.contains(incident) { $0.append(incident) } }
    }
}
