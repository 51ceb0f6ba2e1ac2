/// Says that a move over a folder has swapped the two names, so that what was replaced stands under the source's name.
struct MoveNote: RenameNote {
    static let suffix = Array(".move".utf8)
    /// Both things stand under names that people see.
    static let hides = false
    /// What a note begins with when what was replaced goes to the trash.
    private static let kept = Array("trash ".utf8)

    /// Its name in the trash; nil when it is not to be kept.
    private var item: String?
    /// What was replaced, and where it stands after the swap.
    private let replaced: (thing: NotedThing, path: SharePath)
    /// What was moved, and where it stands after the swap.
    private let moved: (thing: NotedThing, path: SharePath)

    /// - Parameters:
    ///   - from: where what is moved is before the swap.
    ///   - to: where what it replaces is before the swap.
    ///   - item: the name of the replaced thing in the trash; nil when it is deleted for good.
    init?(from: borrowing Location, to: borrowing Location, item: String? = nil) {
        guard let source = from.status, let target = to.status else { return nil }
        self.item = item
        replaced = (NotedThing(target), from.path)
        moved = (NotedThing(source), to.path)
    }

    var bytes: [UInt8] {
        let start = item.map { Self.kept + Array("\($0) ".utf8) } ?? []
        // No path holds a zero.
        return start + Array((replaced.thing.text + moved.thing.text).utf8) + replaced.path.bytes + [0]
            + moved.path.bytes
    }

    init?(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        if rest.starts(with: Self.kept) {
            let id = rest.dropFirst(Self.kept.count).prefix { $0 != UInt8(ascii: " ") }
            guard !id.contains(UInt8(ascii: "/")) else { return nil }
            item = String(decoding: id, as: UTF8.self)
            rest = rest[id.endIndex...].dropFirst()
        }
        let parts = rest.split(separator: UInt8(ascii: " "), maxSplits: 4)
        guard parts.count == 5, let target = NotedThing(parts[0], parts[1]),
            let source = NotedThing(parts[2], parts[3])
        else { return nil }
        let paths = parts[4].split(separator: 0)
        guard paths.count == 2, let from = try? SharePath(bytes: paths[0]), let to = try? SharePath(bytes: paths[1])
        else { return nil }
        replaced = (target, from)
        moved = (source, to)
    }

    /// Removes what was replaced from the source's name, if it stands there.
    ///
    /// Nothing is out of sight if that is not there now.
    func finish(in root: DirectoryRoot) throws(RootError) -> Bool {
        guard let target = try root.locateNoted(moved.path), moved.thing.matches(target.status),
            let location = try root.locateNoted(replaced.path), replaced.thing.matches(location.status)
        else { return true }
        let place = try location.place()
        guard let item else {
            try root.doom(place)
            return true
        }
        // What can't be put into the trash stays where it is, where people find it.
        if let kept = try? root.state.trash.place(of: item) { _ = root.rename(place, to: kept) }
        return true
    }
}
