import CSyscalls

/// Says that what was under a name stands aside for its replacement, under a reserved name in the same folder: used
/// where the file system can't exchange two names in one step.
struct AsideNote: RenameNote {
    static let suffix = Array(".aside".utf8)
    static let hides = true

    private let path: SharePath
    private let aside: [UInt8]
    private let replaced: NotedThing
    private let placed: NotedThing

    /// - Parameters:
    ///   - location: where something is being replaced.
    ///   - aside: the name that the replaced thing has meanwhile.
    ///   - placed: what takes its place.
    init?(_ location: borrowing Location, aside: String, for placed: sys_attributes) {
        guard let status = location.status else { return nil }
        path = location.path
        self.aside = Array(aside.utf8)
        replaced = NotedThing(status)
        self.placed = NotedThing(placed)
    }

    var bytes: [UInt8] { Array((replaced.text + placed.text).utf8) + aside + [UInt8(ascii: " ")] + path.bytes }

    init?(_ bytes: ArraySlice<UInt8>) {
        let parts = bytes.split(separator: UInt8(ascii: " "), maxSplits: 5)
        guard parts.count == 6, let replaced = NotedThing(parts[0], parts[1]),
            let placed = NotedThing(parts[2], parts[3]), let path = try? SharePath(bytes: parts[5]), !path.isRoot
        else { return nil }
        aside = Array(parts[4])
        guard unsafe aside.withUnsafeBufferPointer({ unsafe ReservedName.isTemporary($0) }) else { return nil }
        self.path = path
        self.replaced = replaced
        self.placed = placed
    }

    /// Gives what stands aside its name back, unless its replacement has that name.
    ///
    /// Whatever its device and inode numbers are by now, it is what the note is about: nobody else creates such a name.
    func finish(in root: DirectoryRoot) throws(RootError) -> Bool {
        guard let location = try root.locateNoted(path) else { return false }
        let place = try location.place(named: aside)
        var status = sys_attributes()
        let answer = place.look(&status)
        if answer == -ENOENT { return replaced.isLike(location.status) || placed.isLike(location.status) }
        try check(answer, "statx")
        if replaced.isLike(status), placed.isLike(location.status) {
            try root.doom(place)
        } else {
            _ = try root.nameAgain(place, path)
        }
        return true
    }
}
