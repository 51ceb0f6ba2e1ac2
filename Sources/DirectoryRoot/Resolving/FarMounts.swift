import CSyscalls
import Synchronization

/// The far file systems mounted below the root: those that a program (FUSE) or another machine serves, so that any
/// access to them may take arbitrarily long.
///
/// Known from the kernel's mount table, since asking such a file system what it is would be such an access. Paths that
/// lead there through a symbolic link are not recognised. Empty where the system has no such table (macOS).
final class FarMounts: Sendable {
    /// A far file system below the root.
    struct Mount: Equatable {
        /// Its mount point, from the root; not the root itself.
        let path: SharePath
        /// Its device number, as `stat` reports it.
        let device: UInt64
    }

    /// For requests for something else that come across a far file system.
    let looks = FarLooks()

    private let root: Int32
    /// Whether one name may have several spellings in the root.
    private let mayIgnoreCase: Bool
    /// The kernel's table, kept open: polling it shows when it has changed, and a confined process could not open it
    /// later.
    private let source: SharedDescriptor?
    private let mounts = Mutex<[Mount]>([])
    /// Lets readers skip the lock when there are none.
    private let isEmpty = Atomic(true)
    private let lastLook: Atomic<Int64>

    /// How often to check whether the table has changed, in milliseconds.
    private static let interval: Int64 = 1_000
    /// The most bytes of the table that are read.
    private static let mostBytes = 4 << 20

    /// Reads the table; waits for no disk but the root's own.
    /// - Parameters:
    ///   - root: the open root, which stays the caller's.
    ///   - doubtsNames: whether every folder is assumed to take several spellings for one name.
    init(root: Int32, doubtsNames: Bool) {
        self.root = root
        mayIgnoreCase = doubtsNames || sys_names_kind(root) != sys_names_apart
        let opened = unsafe sys_openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY, 0)
        source = opened >= 0 ? SharedDescriptor(Descriptor(owning: opened)) : nil
        lastLook = Atomic(sys_coarse_milliseconds())
        read()
    }

    /// The far file system on the way to `path`, the last if there are several; nil if there is none.
    ///
    /// What is at `path` may be on a local file system that is mounted in the far one. Waits for no disk.
    func mount(of path: SharePath) -> Mount? {
        guard areAny else { return nil }
        return mounts.withLock { mounts in
            mounts.filter { leads($0.path, to: path) }.max { $0.path.bytes.count < $1.path.bytes.count }
        }
    }

    /// Whether a path is a mount point or below it, in any spelling.
    private func leads(_ mount: SharePath, to path: SharePath) -> Bool {
        if mount.contains(path) { return true }
        guard mayIgnoreCase else { return false }
        let (names, asked) = (mount.components, path.components)
        return names.count <= asked.count && zip(names, asked).allSatisfy { NameKey.areAlike($0, $1) }
    }

    /// Whether this is the device number of a far file system below the root.
    func has(device: UInt64) -> Bool {
        guard !isEmpty.load(ordering: .acquiring) else { return false }
        return mounts.withLock { $0.contains { $0.device == device } }
    }

    /// Whether there are any; waits for no disk.
    var areAny: Bool {
        lookAgain()
        return !isEmpty.load(ordering: .acquiring)
    }

    /// Reads the mounts again after a folder was renamed here; costs nothing when there are none.
    func didRenameFolder() {
        if !isEmpty.load(ordering: .acquiring) { read() }
    }

    /// Reads the table again if it may have changed, at most once a second.
    private func lookAgain() {
        let (now, last) = (sys_coarse_milliseconds(), lastLook.load(ordering: .relaxed))
        guard now - last >= Self.interval,
            lastLook.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged, let source
        else { return }
        // A rename of a folder above a mount point is in the table, but the kernel does not signal it.
        guard sys_has_changed(source.number) == 1 || !isEmpty.load(ordering: .acquiring) else { return }
        read()
    }

    private func read() {
        guard let source, let place = Self.place(of: root) else { return }
        mounts.withLock { mounts in
            // Under the lock: two concurrent readers would each get parts.
            guard let text = Self.text(of: source.number) else { return }
            mounts = Self.mounts(in: text, below: place)
            isEmpty.store(mounts.isEmpty, ordering: .releasing)
        }
    }

    /// The absolute path of an open directory.
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

    /// The far mounts below a directory that no other mount hides.
    /// - Parameters:
    ///   - text: the mount table, in the format of `proc_pid_mountinfo(5)`.
    ///   - place: the directory's absolute path.
    /// - Returns: the mounts in the table's order.
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
            // A mount at the same place or above that is not on the chain of parents hides this one.
            let way = [line.mount.path] + line.mount.path.ancestors { _ in true }
            return way.allSatisfy { places[$0, default: []].allSatisfy { chain.contains($0.id) } }
        }.map(\.mount)
    }

    /// One line of the kernel's table.
    fileprivate struct Line {
        let id: UInt64
        /// The ID of the mount that this one is in.
        let parent: UInt64
        let mount: Mount
        /// Whether a program or another machine serves it.
        let isFar: Bool
    }
}

extension FarMounts.Line {
    /// Parses one line of the table; nil for a mount that is not below `place`.
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

    /// A device number as `stat` reports it, from `major:minor`.
    private static func device(_ field: ArraySlice<UInt8>) -> UInt64? {
        let parts = field.split(separator: UInt8(ascii: ":")).map { UInt32(String(decoding: $0, as: UTF8.self)) }
        guard parts.count == 2, let major = parts[0], let minor = parts[1] else { return nil }
        return sys_device(major, minor)
    }

    /// The kernel writes blanks, tabs, line feeds and backslashes as a backslash and three octal digits.
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

    /// By the name of its type: those that `sys_is_far` knows by number, and types that mount such file systems on
    /// demand.
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

    /// Whether this is the device number of a far file system below the root.
    package func hasFarMount(device: UInt64) -> Bool { farMounts.has(device: device) }

    /// Whether an open file is on a far file system below the root.
    package func isBehindMount(_ entry: Entry) -> Bool { entry.isFar && farMounts.has(device: entry.attributes.device) }

    /// Waits until the far file system on the way to `path`, if there is one, responds.
    ///
    /// For operations that hold up others for as long as they take, as every change does: a disk that hangs blocks here
    /// instead.
    /// - Parameter path: from the root.
    func awaitFarDisk(of path: SharePath) {
        guard farMounts.areAny else { return }
        guard let mount = farMounts.mount(of: path) else {
            // It may still be on one by way of a symbolic link: resolving the path finds that out, and blocks if it
            // hangs.
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
            // The result does not matter.
            _ = unsafe sys_space(opened.descriptor.number, &space)
            return
        }
    }
}

extension Share {
    /// The device number of the far file system on the way to `path`; nil if there is none, and for what links lead to.
    ///
    /// Waits for no disk.
    package func farDevice(of path: SharePath) -> UInt64? {
        (try? absolute(path)).flatMap { root.farMounts.mount(of: $0)?.device }
    }
}
