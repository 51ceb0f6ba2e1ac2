import CSyscalls
import Synchronization

/// The file systems mounted below the root of which a program (FUSE) or another machine is asked for everything, so
/// that any look at them may wait for as long as those like.
///
/// Told from the kernel's table of mounts, since to ask such a file system what it is would be such a look. A path that
/// leads there by way of a symbolic link is not known. Empty where the system has no such table (macOS).
final class FarMounts: Sendable {
    /// A far file system below the root.
    struct Mount: Equatable {
        /// From the root; not the root itself.
        let path: SharePath
        /// Its number, as `stat` has it.
        let device: UInt64
    }

    /// For those who ask for something else, and pass by.
    let looks = FarLooks()

    private let root: Int32
    /// Whether one name may have several spellings in the root.
    private let mayIgnoreCase: Bool
    /// The kernel's table, kept open: it tells when it has changed, and a confined process could not open it later.
    private let source: SharedDescriptor?
    private let mounts = Mutex<[Mount]>([])
    /// So that nobody takes the lock where there is nothing to know.
    private let isEmpty = Atomic(true)
    private let lastLook: Atomic<Int64>

    /// How often it is looked whether the table has changed, in milliseconds.
    private static let interval: Int64 = 1_000
    /// A table that is longer is not read to its end.
    private static let mostBytes = 4 << 20

    /// Reads the table; waits for no disk but the root's own.
    /// - Parameters:
    ///   - root: the open root, which stays the caller's.
    ///   - doubtsNames: whether no folder is believed to tell names apart.
    init(root: Int32, doubtsNames: Bool) {
        self.root = root
        mayIgnoreCase = doubtsNames || sys_names_kind(root) != sys_names_apart
        let opened = unsafe sys_openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY, 0)
        source = opened >= 0 ? SharedDescriptor(Descriptor(owning: opened)) : nil
        lastLook = Atomic(sys_coarse_milliseconds())
        read()
    }

    /// The far file system that is asked on the way to `path`, the last where there are several; nil where none is.
    ///
    /// What is at `path` may be on a near one, mounted in that. Waits for no disk.
    func mount(of path: SharePath) -> Mount? {
        guard areAny else { return nil }
        return mounts.withLock { mounts in
            mounts.filter { leads($0.path, to: path) }.max { $0.path.bytes.count < $1.path.bytes.count }
        }
    }

    /// Whether a path is a mount's or below it, in whatever letters.
    private func leads(_ mount: SharePath, to path: SharePath) -> Bool {
        if mount.contains(path) { return true }
        guard mayIgnoreCase else { return false }
        let (names, asked) = (mount.components, path.components)
        return names.count <= asked.count && zip(names, asked).allSatisfy { NameKey.areAlike($0, $1) }
    }

    /// Whether this is the number of a far file system below the root.
    func has(device: UInt64) -> Bool {
        guard !isEmpty.load(ordering: .acquiring) else { return false }
        return mounts.withLock { $0.contains { $0.device == device } }
    }

    /// Whether there are any; waits for no disk.
    var areAny: Bool {
        lookAgain()
        return !isEmpty.load(ordering: .acquiring)
    }

    /// Follows them after a folder was renamed here; costs nothing where there are none.
    func didRenameFolder() {
        if !isEmpty.load(ordering: .acquiring) { read() }
    }

    /// Reads the table again, once a second at most, where it may have changed.
    private func lookAgain() {
        let (now, last) = (sys_coarse_milliseconds(), lastLook.load(ordering: .relaxed))
        guard now - last >= Self.interval,
            lastLook.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged, let source
        else { return }
        // That a folder above one was renamed is in the table, but the kernel does not tell of it.
        guard sys_has_changed(source.number) == 1 || !isEmpty.load(ordering: .acquiring) else { return }
        read()
    }

    private func read() {
        guard let source, let place = Self.place(of: root) else { return }
        mounts.withLock { mounts in
            // Under the lock: two that read at a time would each get parts.
            guard let text = Self.text(of: source.number) else { return }
            mounts = Self.mounts(in: text, below: place)
            isEmpty.store(mounts.isEmpty, ordering: .releasing)
        }
    }

    /// Where an open directory is, from the root of all.
    private static func place(of directory: Int32) -> [UInt8]? {
        unsafe withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX) + 1, alignment: 1) { buffer in
            let name = "/proc/self/fd/\(directory)"
            let count = unsafe sys_readlinkat(AT_FDCWD, name, buffer.baseAddress, buffer.count)
            guard count > 0, count < buffer.count else { return nil }
            return unsafe Array(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    private static func text(of source: Int32) -> [UInt8]? {
        var text: [UInt8] = []
        return unsafe withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
            while text.count < mostBytes {
                let count = unsafe sys_pread(source, buffer.baseAddress, buffer.count, Int64(text.count))
                guard count > 0 else { return count == 0 ? text : nil }
                unsafe text.append(contentsOf: buffer[..<count])
            }
            return text
        }
    }

    /// The far mounts below a directory that something leads to.
    /// - Parameters:
    ///   - text: the list, as `proc_pid_mountinfo(5)` describes it.
    ///   - place: where the directory is.
    /// - Returns: in the list's order.
    static func mounts(in text: [UInt8], below place: [UInt8]) -> [Mount] {
        let lines = text.split(separator: UInt8(ascii: "\n")).compactMap { Line($0, below: place) }
        guard lines.contains(where: { $0.isFar }) else { return [] }
        let known = Dictionary(lines.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        let places = Dictionary(grouping: lines) { $0.mount.path }
        return lines.filter { line in
            guard line.isFar else { return false }
            var chain: Set<UInt64> = [line.id]
            var next = known[line.parent]
            while let above = next, chain.insert(above.id).inserted { next = known[above.parent] }
            // What is mounted at its place or above, and not below it in the kernel's tree, hides it.
            let way = [line.mount.path] + line.mount.path.ancestors { _ in true }
            return way.allSatisfy { places[$0, default: []].allSatisfy { chain.contains($0.id) } }
        }.map(\.mount)
    }

    /// One line of the kernel's table.
    fileprivate struct Line {
        let id: UInt64
        /// The mount that this one is in.
        let parent: UInt64
        let mount: Mount
        /// Whether others are asked for what is in it.
        let isFar: Bool
    }
}

extension FarMounts.Line {
    /// What one line of the list says; nil for one that is not below `place`.
    init?(_ line: ArraySlice<UInt8>, below place: [UInt8]) {
        // ID, parent's ID, device, root within it, mount point, options, any number of fields, `-`, type.
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.count > 6, let end = fields[6...].firstIndex(where: { $0.elementsEqual("-".utf8) }),
            end + 1 < fields.count, let device = Self.device(fields[2]),
            let id = UInt64(String(decoding: fields[0], as: UTF8.self)),
            let parent = UInt64(String(decoding: fields[1], as: UTF8.self))
        else { return nil }
        let point = Self.unescaped(fields[4])
        var base = place
        if base.last != UInt8(ascii: "/") { base.append(UInt8(ascii: "/")) }
        guard point.count > base.count, point.starts(with: base) else { return nil }
        self.init(
            id: id, parent: parent,
            mount: FarMounts.Mount(path: SharePath(unchecked: Array(point[base.count...])), device: device),
            isFar: Self.isFar(String(decoding: fields[end + 1], as: UTF8.self)))
    }

    /// A number as `stat` has it, from two with a colon between them.
    private static func device(_ field: ArraySlice<UInt8>) -> UInt64? {
        let parts = field.split(separator: UInt8(ascii: ":")).map { UInt32(String(decoding: $0, as: UTF8.self)) }
        guard parts.count == 2, let major = parts[0], let minor = parts[1] else { return nil }
        return sys_device(major, minor)
    }

    /// The kernel writes blanks, tabs, line ends and backslashes as three octal digits behind a backslash.
    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8) {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// By the name of its type; those of `sys_is_far` by their numbers, and what mounts such on demand.
    private static func isFar(_ type: String) -> Bool {
        let kind = type.prefix { $0 != "." }
        return [
            "fuse", "fuseblk", "virtiofs", "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "9p", "lustre", "ocfs2",
            "gfs2", "gpfs", "afs", "vboxsf", "vmhgfs", "autofs",
        ].contains(String(kind))
    }
}

extension DirectoryRoot {
    /// Whether any far file system is mounted below the root; waits for no disk.
    package var hasFarMounts: Bool { farMounts.areAny }

    /// Whether this is the number of a far file system below the root.
    package func hasFarMount(device: UInt64) -> Bool { farMounts.has(device: device) }

    /// Whether an open file is on a far file system below the root.
    package func isBehindMount(_ entry: Entry) -> Bool { entry.isFar && farMounts.has(device: entry.attributes.device) }

    /// Waits until the far file system answers that is asked on the way to `path`, if one is.
    ///
    /// For who goes on to hold up others, as every change does for as long as it takes: a disk that hangs is met here.
    /// - Parameter path: from the root.
    func awaitFarDisk(of path: SharePath) {
        guard farMounts.areAny else { return }
        guard let mount = farMounts.mount(of: path) else {
            // By way of a symbolic link it may be on one all the same: to find it is to meet that.
            if let real = try? resolver.open(path, flags: sys_o_path).realPath, farMounts.mount(of: real) != nil {
                awaitFarDisk(of: real)
            }
            return
        }
        // The folder itself: what is mounted on demand may be further down.
        let folder = mount.path.depth == path.depth ? path : path.parent
        for place in [folder, mount.path] {
            guard let opened = try? resolver.open(place, flags: sys_o_path | O_DIRECTORY) else { continue }
            var space = sys_space()
            // What it says does not matter.
            _ = unsafe sys_space(opened.descriptor.number, &space)
            return
        }
    }
}

extension Share {
    /// The number of the far file system that is asked on the way to `path`; nil where none is, and for what links lead
    /// to.
    ///
    /// Waits for no disk.
    package func farDevice(of path: SharePath) -> UInt64? {
        (try? absolute(path)).flatMap { root.farMounts.mount(of: $0)?.device }
    }
}
