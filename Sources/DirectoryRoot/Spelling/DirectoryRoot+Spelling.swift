import CSyscalls

/// How the disk treats a name that resembles one with a rule. All of these may wait for the disk.
extension DirectoryRoot {
    /// Whether the disk may take one name for the other; true when unknown.
    func confuses(_ spelling: OtherSpelling) -> Bool {
        guard let folder = try? FolderNames(nearest: spelling.folder, by: resolver) else { return true }
        return folder.mayTake(spelling.name, for: spelling.known)
    }

    /// Whether every component of `path` may exist for a requester, in whatever spelling it is written.
    func shows(_ path: SharePath) -> Bool {
        guard policy.shows(path) else { return false }
        guard hiddenSpellings.mayHave(path) else { return true }
        return !mayRespell(path) { hiddenSpellings.mayHave(name: $0) }
    }

    /// Whether a name that is not hidden as written is hidden because the folder may know it by another spelling.
    func hides(_ name: some BidirectionalCollection<UInt8>, in folder: SharePath) -> Bool {
        hiddenSpellings.mayHave(name: name) && mayRespell(name, in: folder)
    }

    /// Whether a folder lists exactly this name; false when it can't be read.
    func lists(_ name: [UInt8], in folder: SharePath) -> Bool {
        guard let names = try? FolderNames(of: folder, by: resolver) else { return false }
        return names.lists(name)
    }

    /// Whether some folder on the way to `path` may know the next name by another spelling too.
    func mayRespell(_ path: SharePath) -> Bool { mayRespell(path) { _ in true } }

    /// The same for those of its names for which `matters` returns true.
    private func mayRespell(_ path: SharePath, where matters: (ArraySlice<UInt8>) -> Bool) -> Bool {
        if let answer = try? mayRespellOnTheWay(to: path, where: matters) { return answer }
        return path.components.contains { matters($0) && mayRespell($0, in: path.before($0)) }
    }

    /// From folder to folder: a path may have two thousand components, and looking up each from the root would take
    /// quadratic time.
    /// - Throws: what keeps a folder from being opened.
    private func mayRespellOnTheWay(
        to path: SharePath, where matters: (ArraySlice<UInt8>) -> Bool
    ) throws(RootError) -> Bool {
        var folder = try Descriptor(sys_dup(resolver.root), "dup")
        var goesOn = true
        for name in path.components {
            if matters(name) {
                let names = try FolderNames(in: folder.number, assumesNothing: resolver.doubtsNames)
                if names.mayRespell(Array(name)) { return true }
            }
            guard goesOn, name.endIndex < path.bytes.endIndex else { continue }
            let answer = unsafe CString.with(name) { name in
                unsafe sys_openat(folder.number, name, sys_o_path | O_NOFOLLOW | O_NONBLOCK, 0)
            }
            // A folder that is yet to be created will compare names as its parent does.
            goesOn = answer != -ENOENT
            guard goesOn else { continue }
            let next = try Descriptor(answer, "openat")
            let status = try next.status()
            if status.isLink {
                do throws(RootError) {
                    folder = try directory(at: SharePath(unchecked: Array(path.bytes[..<name.endIndex])))
                } catch .notFound {
                    goesOn = false
                }
            } else if status.isDirectory {
                folder = next
            } else {
                goesOn = false
            }
        }
        return false
    }

    private func directory(at path: SharePath) throws(RootError) -> Descriptor {
        let found = try resolver.find(path, flags: sys_o_path | O_DIRECTORY)
        return found.descriptor
    }

    private func mayRespell(_ name: some Collection<UInt8>, in folder: SharePath) -> Bool {
        guard let names = try? FolderNames(nearest: folder, by: resolver) else { return true }
        return names.mayRespell(Array(name))
    }
}
