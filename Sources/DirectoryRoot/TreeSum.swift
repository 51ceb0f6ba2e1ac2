import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What every file and folder of a tree was at one moment, in one number: another one as soon as anything in it is
/// written, made, renamed or removed.
///
/// The order does not matter. Good within one process only.
struct TreeSum: Equatable {
    /// Only this many of the deepest directories stay open.
    private static let mostOpen = 32
    private var sum: UInt64 = 0

    /// Of what is in a directory now, with all names but our own, not following links.
    ///
    /// May wait for the disk.
    /// - Parameter directory: open for whatever purpose; stays the caller's.
    /// - Throws: ``RootError/tooMany`` when a folder is moved while this looks; what the disk says.
    init(of directory: Int32) throws(RootError) {
        var levels = unsafe [try SumLevel(".", in: directory)]
        while let level = levels.last {
            guard let record = try unsafe level.next() else {
                levels.removeLast()
                try levels.last?.reopen(from: level)
                continue
            }
            let name = unsafe Array(record.bytes)
            var status = sys_attributes()
            if unsafe ReservedName.takes(record.bytes) || sys_statat(level.number, record.name, &status) != 0 {
                continue
            }
            add(status, as: name, depth: levels.count)
            guard status.isDirectory else { continue }
            do throws(RootError) {
                unsafe levels.append(try SumLevel(record.name, in: level.number))
            } catch .notFound, .notDirectory, .forbidden {
                // Gone or replaced meanwhile: the sum of another moment tells. One that nobody can read is not copied.
                continue
            }
            if levels.count > Self.mostOpen { levels[levels.count - 1 - Self.mostOpen].close() }
        }
    }

    private mutating func add(_ status: sys_attributes, as name: [UInt8], depth: Int) {
        var hasher = Hasher()
        hasher.combine(name)
        hasher.combine(depth)
        hasher.combine(FileStamp(status))
        sum &+= UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

/// A directory on the way down.
private final class SumLevel {
    private let directory: WalkedDirectory
    private var reader: DirectoryReader?
    /// How many records were read, which are left out when the directory was closed meanwhile.
    ///
    /// Where that leaves out others, the directory was changed, and so is the sum.
    private var seen = 0

    init(_ name: UnsafePointer<CChar>, in directory: Int32) throws(RootError) {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        self.directory = try unsafe WalkedDirectory(Descriptor(sys_openat(directory, name, flags, 0), "openat"))
    }

    var number: Int32 { directory.number }

    func close() {
        reader = nil
        directory.close()
    }

    func reopen(from child: SumLevel) throws(RootError) {
        do throws(RootError) {
            try directory.reopen(from: child.directory)
        } catch .notFound {
            throw .tooMany
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
