import CSyscalls
import DirectoryRoot
import Logging

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Periodic work for a share while it is served: removes what has expired, and logs what went wrong.
struct Housekeeping: Sendable {
    let root: DirectoryRoot
    let io: IOPool
    let logger: Logger
    /// Waits for this long; throws when there is nothing to wait for any more.
    var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Free memory that is worth keeping for the next minute, in bytes.
    private static let spareMemory = 8 << 20
    private static let interval: Duration = .seconds(60)

    /// Runs until the task is cancelled.
    func keep() async {
        var hadRoom = true
        var left: String?
        var missing: Logger.Message?
        var wasRefused = false
        while !Task.isCancelled {
            let obstacle = (try? await io.run { [root] in root.obstacle }) ?? nil
            if let (place, errno) = obstacle, !wasRefused {
                // It belongs to another user, was created by an earlier start as root, or is on a disk that has failed:
                // clients get 403, and only this message gives the reason.
                logger.warning(
                    "changes will be refused",
                    metadata: ["place": "\(place)", "reason": "\(unsafe String(cString: strerror(errno)))"])
            } else if obstacle == nil, wasRefused {
                logger.info("changes are possible again")
            }
            wasRefused = obstacle != nil
            do {
                try await io.run { [root] in
                    defer { sys_give_back_free_memory(Self.spareMemory) }
                    try root.sweep()
                }
            } catch {
                logger.warning("could not tidy the state of the share", metadata: ["error": "\(error)"])
            }
            for incident in root.takeIncidents() {
                logger.warning("state of the share", metadata: ["incident": "\(incident)"])
            }
            if hadRoom, !root.hasRoomForTrash {
                logger.warning("the disk is full: nothing can be uploaded, and what is deleted can't be had back")
            }
            hadRoom = root.hasRoomForTrash
            let home = try? await io.run { [root] in
                (left: root.pathLeft, isGone: root.isGone, isOutOfReach: root.isOutOfReach)
            }
            if let path = home?.left, path != left {
                // Whoever put another directory there may wonder why its contents are not served.
                logger.warning(
                    "the shared directory was moved: it is still served, and what is in its place is not",
                    metadata: ["place": "\(path)"])
            }
            left = home?.left
            let wasMissing = missing
            missing =
                if home?.isOutOfReach == true {
                    "the shared directory is there again, but this process can't open it: start the server anew"
                } else if home?.isGone == true {
                    "the shared directory was removed: until it is there again, nothing is served"
                } else {
                    nil
                }
            if let missing, missing != wasMissing { logger.warning(missing) }
            do { try await pause(Self.interval) } catch { return }
        }
    }
}
