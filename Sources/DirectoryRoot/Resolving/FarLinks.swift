import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

// Symbolic links to far file systems: a folder that has one is listed without waiting for those.
extension Share {
    /// What a link in a folder on a local file system leads to.
    /// - Parameters:
    ///   - link: its path from the root, without links on the way.
    ///   - isKnown: set to false when that is on a far file system that does not respond. Then the mount point's folder
    ///     is shown instead: a client that syncs a copy lists a folder before it concludes that a file was deleted.
    /// - Returns: its status, and its real path.
    /// - Throws: as ``look(at:waiting:)``.
    func target(
        ofLink link: SharePath, isKnown: inout Bool
    ) throws(RootError) -> (status: sys_attributes, realPath: SharePath) {
        guard let (mount, place) = root.farMount(behind: link) else { return try look(at: link, waiting: true) }
        let answer = root.farMounts.looks.run(on: mount.device) { [self] in
            Result { () throws(RootError) in try look(at: link, waiting: true) }
        }
        if let answer { return try answer.get() }
        isKnown = false
        try admit(place)
        let folder = try root.resolver.open(mount.path.parent, flags: sys_o_path | O_DIRECTORY)
        var status = sys_attributes()
        let known = unsafe CString.with(mount.path.name) { name in
            unsafe sys_statat_now(folder.descriptor.number, name, &status)
        }
        try check(known, "statx")
        return (status, place)
    }
}

extension DirectoryRoot {
    /// The far file system that a link leads to, found by reading the link and those that it leads through.
    ///
    /// Waits for local disks only.
    /// - Parameter link: its path from the root, without links on the way.
    /// - Returns: the mount, and the path in it as far as it can be known; nil when the link leads to none.
    fileprivate func farMount(behind link: SharePath) -> (mount: FarMounts.Mount, place: SharePath)? {
        guard farMounts.areAny else { return nil }
        var real = link.parent
        var pending = [link.name]
        var links = 0
        while let name = pending.popLast() {
            if name.elementsEqual([UInt8(ascii: ".")]) { continue }
            guard !name.elementsEqual(Self.above) else {
                guard !real.isRoot else { return nil }
                real = real.parent
                continue
            }
            guard let next = try? real.appending(name) else { return nil }
            if let mount = farMounts.mount(of: next) {
                guard !pending.contains(where: { $0.elementsEqual(Self.above) }) else { return (mount, mount.path) }
                return (mount, pending.reversed().reduce(next) { $0.appendingIfFits(Array($1)) })
            }
            guard let folder = try? resolver.find(real, flags: sys_o_path | O_DIRECTORY),
                let text = try? Resolver.readLink(name, in: folder.descriptor.number)
            else {
                real = next
                continue
            }
            links += 1
            guard links <= Resolver.mostLinks, text.first != SharePath.slash else { return nil }
            pending += text.split(separator: SharePath.slash).reversed()
        }
        return nil
    }

    private static let above = [UInt8(ascii: "."), UInt8(ascii: ".")]
}
