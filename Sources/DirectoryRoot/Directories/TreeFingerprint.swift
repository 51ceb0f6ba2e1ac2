import CSyscalls

/// One number for the state of every file and folder of a tree at one moment: it differs as soon as anything in the
/// tree is written, created, renamed or removed.
///
/// Does not depend on the order of reading. Comparable within one process only.
struct TreeFingerprint: Equatable {
    /// Which changes change the fingerprint.
    enum Scope {
        case contents
        /// Creating, renaming and removing only; files are not examined.
        case names
    }

    /// Only this many of the deepest directories stay open.
    private static let mostOpen = 32
    private let scope: Scope
    private var levels: [SumLevel] = []
    private var sum: UInt64 = 0
    /// The latest change of a file or folder, when contents count.
    private(set) var newest = Timestamp(seconds: .min)

    /// Of what a directory holds now, except what a copy leaves out; does not follow links.
    ///
    /// May wait for the disk.
    /// - Parameters:
    ///   - directory: opened in any mode; stays the caller's.
    ///   - scope: which changes count.
    /// - Throws: ``RootError/changedMeanwhile`` when a folder is moved while this reads; what the disk reports.
    init(of directory: Int32, scope: Scope = .contents) throws(RootError) {
        self.scope = scope
        try unsafe enter(".", in: directory)
        while let level = levels.last {
            guard let record = try unsafe level.next() else {
                levels.removeLast()
                try levels.last?.reopen(from: level)
                continue
            }
            guard unsafe counts(record.bytes), unsafe add(record, in: level) else { continue }
            do throws(RootError) {
                try unsafe enter(record.name, in: level.number)
            } catch .notFound, .notDirectory, .forbidden {
                // Gone or replaced meanwhile: a fingerprint of another moment will differ. What nobody can read is not
                // copied.
                continue
            }
            if levels.count > Self.mostOpen { levels[levels.count - 1 - Self.mostOpen].close() }
        }
    }

    static func == (one: TreeFingerprint, other: TreeFingerprint) -> Bool { one.sum == other.sum }

    private mutating func enter(_ name: UnsafePointer<CChar>, in directory: Int32) throws(RootError) {
        let level = try unsafe SumLevel(name, in: directory)
        levels.append(level)
        // Its own times show what came and went between two fingerprints; with contents, they are added with its name.
        if scope == .names { unsafe add(FileStamp(level.identity), nil) }
    }

    /// Whether a copy may have this name: a move takes everything along except what is unfinished.
    private func counts(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        switch scope {
        case .contents: unsafe !ReservedName.isTemporary(name)
        case .names: unsafe !ReservedName.takes(name)
        }
    }

    /// - Returns: whether it may be a directory.
    private mutating func add(_ record: sys_name, in level: SumLevel) -> Bool {
        switch scope {
        case .names:
            unsafe add(record.inode, record.bytes)
            return unsafe [UInt32(DT_DIR), UInt32(DT_UNKNOWN)].contains(record.type)
        case .contents:
            var status = sys_attributes()
            guard unsafe sys_statat(level.number, record.name, &status) == 0 else { return false }
            unsafe add(FileStamp(status), record.bytes)
            newest = max(newest, status.changeTime)
            return status.isDirectory
        }
    }

    private mutating func add(_ value: some Hashable, _ name: UnsafeBufferPointer<UInt8>?) {
        var hasher = Hasher()
        if let name = unsafe name { unsafe hasher.combine(bytes: UnsafeRawBufferPointer(name)) }
        hasher.combine(levels.count)
        hasher.combine(value)
        sum &+= UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

/// A directory on the way down.
private final class SumLevel {
    private let directory: WalkedDirectory
    private var reader: DirectoryReader?
    /// How many records were read; they are skipped when the directory was closed meanwhile.
    ///
    /// If this skips the wrong ones, the directory was changed, and so is the sum.
    private var seen = 0

    init(_ name: UnsafePointer<CChar>, in directory: Int32) throws(RootError) {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        self.directory = try unsafe WalkedDirectory(Descriptor(sys_openat(directory, name, flags, 0), "openat"))
    }

    var number: Int32 { directory.number }
    /// What the directory was when it was opened.
    var identity: sys_attributes { directory.identity }

    func close() {
        reader = nil
        directory.close()
    }

    func reopen(from child: SumLevel) throws(RootError) {
        do throws(RootError) {
            try directory.reopen(from: child.directory)
        } catch .notFound {
            throw .changedMeanwhile
        }
    }

    func next() throws(RootError) -> sys_name? {
        if reader == nil {
            reader = DirectoryReader(descriptor: number)
            for _ in 0..<seen { _ = try unsafe reader?.next() }
        }
        seen += 1
        return try unsafe reader?.next()
    }
}
