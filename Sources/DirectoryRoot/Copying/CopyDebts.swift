import CSyscalls

/// What one walk of a ``TreeCopy`` leaves to the next, which goes over the same copy.
struct CopyDebts {
    /// What had another name, or none, by the time that it was to be copied, by inode, and where it was; until it is
    /// met under another name, in this walk or a later one.
    var missing: [UInt64: SharePath] = [:]
    /// What the last walk replaced by another file of the same name, which may be nowhere else in the copy.
    var replaced: SharePath?
    /// Folders of which the copy may have a part, since they were moved away meanwhile.
    var broken: [MemberFailure] = []

    /// Folders where they are, and files that were changed lately, by what they are and where; so many are remembered.
    private static let most = 200_000
    private var places: Set<Int> = []
    private var placesBefore: Set<Int> = []
    /// Later changes are of the walk's own time, also on a disk that counts every other second.
    private var began: Timestamp
    private var beganBefore = Timestamp(seconds: .min)
    private(set) var hasWalked = false

    /// Of the first walk.
    init() { began = Self.start() }

    /// Begins another walk.
    mutating func beginPass() {
        beganBefore = began
        began = Self.start()
        placesBefore = places
        places = []
        replaced = nil
        hasWalked = true
    }

    private static func start() -> Timestamp { .now.advanced(by: .seconds(-3)) }

    /// Whether a folder is where the walk before met it, too.
    mutating func meets(_ status: sys_attributes, _ name: [UInt8], in level: CopyLevel) -> Bool {
        let place = Self.place(status, name, level)
        if places.count < Self.most { places.insert(place) }
        return placesBefore.contains(place)
    }

    /// Remembers a file that is copied, if it has been changed so lately that its times tell nothing of its name.
    mutating func note(_ status: sys_attributes, _ name: [UInt8], in level: CopyLevel) {
        guard status.changeTime >= began, places.count < Self.most else { return }
        places.insert(Self.place(status, name, level))
    }

    /// Whether a file had this name in the walk before: a new name is a change.
    func knows(_ status: sys_attributes, _ name: [UInt8], in level: CopyLevel) -> Bool {
        status.changeTime < beganBefore || placesBefore.contains(Self.place(status, name, level))
    }

    private static func place(_ status: sys_attributes, _ name: [UInt8], _ level: CopyLevel) -> Int {
        var hasher = Hasher()
        hasher.combine(status.device)
        hasher.combine(status.inode)
        hasher.combine(level.identity.inode)
        hasher.combine(name)
        return hasher.finalize()
    }
}
