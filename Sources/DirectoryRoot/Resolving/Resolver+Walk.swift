import CSyscalls

extension Resolver {
    /// Opens `path` component by component; the kernel never follows a link on the way.
    ///
    /// A link's name is replaced by its target. A `..` in a target starts again from the root with the real names found
    /// so far, so that a directory that is moved away meanwhile can't lead above the root. If somebody swaps
    /// directories for links during the walk, the rules for links apply, or the lookup fails.
    func walk(_ path: SharePath, flags: Int32) throws(RootError) -> Resolved {
        let found = try follow(path, flags: flags)
        if (found.realPath ?? path).hasShortNames { try refuseShortNames(in: found.realPath ?? path) }
        return found
    }

    /// The same for a path whose names are known to be listed.
    func follow(_ path: SharePath, flags: Int32) throws(RootError) -> Resolved {
        var walk = Walk(root: root, pending: path.components.reversed())
        let descriptor = try walk.finish(flags: flags)
        return Resolved(descriptor: descriptor, realPath: try walk.realPath())
    }

    /// A link's target; nil when the name is not a link, or no longer one.
    static func readLink(_ name: ArraySlice<UInt8>, in folder: Int32) throws(RootError) -> [UInt8]? {
        var count = 0
        let target = unsafe [UInt8](unsafeUninitializedCapacity: SharePath.longestPath + 1) { buffer, used in
            count = unsafe CString.with(name) { name in
                unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                    unsafe sys_readlinkat(folder, name, text.baseAddress, text.count)
                }
            }
            used = max(0, count)
        }
        if count == -Int(EINVAL) || count == -Int(ENOENT) { return nil }
        try check(count, "readlinkat")
        return count > 0 && count <= SharePath.longestPath ? target : nil
    }
}

/// The state of one walk.
private struct Walk: ~Copyable {
    let root: Int32
    /// The components still to be resolved, the next one last.
    var pending: [ArraySlice<UInt8>]
    /// The real names from the root to `current`.
    var real: [ArraySlice<UInt8>] = []
    /// The directory reached so far; nil at the root.
    var current: Descriptor?
    var links = 0

    init(root: Int32, pending: [ArraySlice<UInt8>]) {
        self.root = root
        self.pending = pending
    }

    func realPath() throws(RootError) -> SharePath? {
        if links == 0 { return nil }
        var found = SharePath.root
        for name in real { found = try found.appending(name) }
        return found
    }

    mutating func finish(flags: Int32) throws(RootError) -> Descriptor {
        while let name = pending.popLast() {
            if name.elementsEqual([UInt8(ascii: ".")]) { continue }
            if name.elementsEqual([UInt8(ascii: "."), UInt8(ascii: ".")]) {
                try stepUp()
                continue
            }
            let isLast = pending.isEmpty
            let step = isLast ? flags : sys_o_path | O_DIRECTORY
            let answer = try openStep(name, flags: step)
            guard answer >= 0 else {
                try follow(name, because: answer)
                continue
            }
            real.append(name)
            if isLast { return Descriptor(owning: answer) }
            current = Descriptor(owning: answer)
        }
        // The path ended in the root, `.` or `..`, which so far was opened only for lookups in it.
        return try unsafe Descriptor(sys_openat(place, ".", flags, 0), "openat")
    }

    private var place: Int32 {
        switch current {
        case .some(let descriptor): descriptor.number
        case .none: root
        }
    }

    /// Returns a descriptor, or `-ELOOP` when the name is a link.
    private func openStep(_ name: ArraySlice<UInt8>, flags: Int32) throws(RootError) -> Int32 {
        let answer = unsafe CString.with(name) { name in unsafe sys_openat(place, name, flags | O_NOFOLLOW, 0) }
        guard answer >= 0, flags & sys_o_path == sys_o_path, flags & O_DIRECTORY == 0 else { return answer }
        // O_PATH opens a link itself instead of refusing it.
        var status = sys_attributes()
        let described = unsafe sys_fstat(answer, &status)
        guard described < 0 || status.isLink else { return answer }
        _ = sys_close(answer)
        return described < 0 ? described : -ELOOP
    }

    /// Puts a link's target in place of its name, or throws `failure` when the name is no link.
    private mutating func follow(_ name: ArraySlice<UInt8>, because failure: Int32) throws(RootError) {
        guard failure == -ELOOP || failure == -ENOTDIR || failure == -EMLINK else {
            throw RootError(failure, "openat")
        }
        guard let target = try Resolver.readLink(name, in: place) else { throw RootError(failure, "openat") }
        links += 1
        guard links <= Resolver.mostLinks, target.first != SharePath.slash else { throw .notFound }
        pending += target.split(separator: SharePath.slash).reversed()
        guard pending.count <= SharePath.longestPath else { throw .notFound }
    }

    private mutating func stepUp() throws(RootError) {
        guard !real.isEmpty else { throw .notFound }
        real.removeLast()
        current = nil
        for name in real {
            let answer = unsafe CString.with(name) { name in
                unsafe sys_openat(place, name, sys_o_path | O_DIRECTORY | O_NOFOLLOW, 0)
            }
            current = try Descriptor(answer, "openat")
        }
    }
}
