import CSyscalls

/// What one walk of a ``TreeCopy`` leaves for the next walk over the same copy.
struct CopyDebts {
    /// Members that had another name, or none, when they were to be copied: by inode, with the path where they were.
    ///
    /// Removed when the member is met under another name, in this walk or a later one.
    var missing: [UInt64: SharePath] = [:]
    /// Where the last walk replaced a file by another of the same name; the replaced one may be nowhere else in the
    /// copy.
    var replaced: SharePath?
    /// Folders that the copy may have in part only, since they were moved away meanwhile.
    var broken: [MemberFailure] = []

    /// The most folders, each at its place, and recently changed files that are remembered, as hashes of identity and
    /// place.
    private static let most = 200_000
    private var places: Set<Int> = []
    private var placesBefore: Set<Int> = []
    /// Three seconds before this walk: changes after it are taken as made during the walk, also on a disk that keeps
    /// times to two seconds.
    private var began: Timestamp
    private var beganBefore = Timestamp(seconds: .min)
    private(set) var hasWalked = false

    /// For the first walk.
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

    /// Whether the previous walk met this folder at the same place too.
    mutating func meets(_ status: sys_attributes, _ name: [UInt8], in level: CopyLevel) -> Bool {
        let place = Self.place(status, name, level)
        if places.count < Self.most { places.insert(place) }
        return placesBefore.contains(place)
    }

    /// Remembers a file that is copied, if it was changed so recently that its times do not show whether it was
    /// renamed.
    mutating func note(_ status: sys_attributes, _ name: [UInt8], in level: CopyLevel) {
        guard status.changeTime >= began, places.count < Self.most else { return }
        places.insert(Self.place(status, name, level))
    }

    /// Whether a file had this name in the previous walk: a rename also changes its `st_ctime`.
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
