/// Says that what was under a name is in the trash, and its replacement yet to come: used where the two can't be
/// exchanged in one step, and what was taken can't have a second name in the trash.
struct TakenNote: RenameNote {
    static let suffix = Array(".taken".utf8)
    /// People see it in the trash.
    static let hides = false

    private let item: String
    private let path: SharePath

    /// - Parameters:
    ///   - location: where something is being replaced.
    ///   - item: the name of the replaced thing in the trash.
    init(_ location: borrowing Location, item: String) {
        path = location.path
        self.item = item
    }

    var bytes: [UInt8] { Array("\(item) ".utf8) + path.bytes }

    init?(_ bytes: ArraySlice<UInt8>) {
        let parts = bytes.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, let path = try? SharePath(bytes: parts[1]), !path.isRoot else { return nil }
        item = String(decoding: parts[0], as: UTF8.self)
        self.path = path
    }

    /// Gives what was taken its name back, unless something has that name; otherwise people find it in the trash.
    func finish(in root: DirectoryRoot) throws(RootError) -> Bool {
        guard let (record, _) = try root.state.trash.find(item), let location = try root.locateNoted(path),
            location.status == nil
        else { return true }
        root.state.trash.giveBack(.moved(record), to: location, of: root)
        return true
    }
}
