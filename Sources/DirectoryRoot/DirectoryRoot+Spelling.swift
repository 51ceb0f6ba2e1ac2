/// What the disk makes of a name that is like one that matters. All of it may wait for the disk.
extension DirectoryRoot {
    /// Whether the disk may take a name for the other; yes where that cannot be found out.
    func confuses(_ spelling: OtherSpelling) -> Bool {
        guard let folder = try? FolderNames(nearest: spelling.folder, by: resolver) else { return true }
        return folder.mayTake(spelling.name, for: spelling.known)
    }

    /// Whether every component of `path` may exist for a requester, whatever the letters it is written in.
    func shows(_ path: SharePath) -> Bool {
        guard policy.shows(path) else { return false }
        guard hiddenSpellings.mayHave(path) else { return true }
        return !path.components.contains { hides($0, in: path.before($0)) }
    }

    /// Whether a name that is shown as it is written is hidden since the folder may know it by another spelling.
    func hides(_ name: some BidirectionalCollection<UInt8>, in folder: SharePath) -> Bool {
        hiddenSpellings.mayHave(name: name) && mayRespell(name, in: folder)
    }

    /// Whether a folder lists exactly this name; no where it cannot be read.
    func lists(_ name: [UInt8], in folder: SharePath) -> Bool {
        guard let names = try? FolderNames(of: folder, by: resolver) else { return false }
        return names.lists(name)
    }

    /// Whether some folder on the way to `path` may know the next name by another spelling, too.
    func mayRespell(_ path: SharePath) -> Bool {
        path.components.contains { mayRespell($0, in: path.before($0)) }
    }

    private func mayRespell(_ name: some Collection<UInt8>, in folder: SharePath) -> Bool {
        guard let names = try? FolderNames(nearest: folder, by: resolver) else { return true }
        return names.mayRespell(Array(name))
    }
}
