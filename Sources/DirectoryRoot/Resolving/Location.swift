import CSyscalls

/// A name in an open directory, and what is there: the place of a write.
///
/// The directory was opened beneath the root; whatever happens to the path meanwhile, `*at` calls with the single name
/// can't lead anywhere else.
struct Location: ~Copyable {
    /// The directory that holds the name; usable for `*at` calls only.
    let directory: Descriptor
    /// The real path from the root: links above (and, where asked for, in) the name are resolved.
    let path: SharePath
    /// The status of what has the name now, not following a link; nil when nothing has it.
    private(set) var status: sys_attributes?

    fileprivate init(directory: consuming Descriptor, path: SharePath) throws(RootError) {
        self.directory = directory
        self.path = path
        try refresh()
    }

    /// A name assumed to be free, for a caller that finds out by taking it, without looking first.
    init(assumedFree path: SharePath, in directory: consuming Descriptor) {
        self.directory = directory
        self.path = path
    }

    /// Looks again at what is there.
    mutating func refresh() throws(RootError) {
        var found = sys_attributes()
        let answer = unsafe withName { name in unsafe sys_statat(directory.number, name, &found) }
        if answer != -ENOENT { try check(answer, "statx") }
        status = answer == 0 ? found : nil
    }

    /// The name for the C library.
    func withName<Answer>(_ body: (UnsafePointer<CChar>) -> Answer) -> Answer {
        unsafe CString.with(path.name, body)
    }

    /// The same place, to be kept.
    func place() throws(RootError) -> ScratchPlace { try place(named: Array(path.name)) }

    /// Another name in the same directory, to be kept.
    func place(named name: [UInt8]) throws(RootError) -> ScratchPlace {
        let copy = try Descriptor(sys_dup(directory.number), "dup")
        return ScratchPlace(directory: SharedDescriptor(copy), name: name)
    }

    /// Whether what is there may have extended attributes that ``FileMetadata`` carries.
    var mayHaveAttributes: Bool {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { names in
            let count = unsafe withName {
                unsafe sys_list_attributes_at(directory.number, $0, names.baseAddress, names.count)
            }
            guard count > 0 else { return count == -Int(ERANGE) }
            // A label of the operating system, as SELinux gives every file, does not count.
            return unsafe names[..<count].split(separator: 0).contains { unsafe FileMetadata.carries($0) }
        }
    }

    /// Opens what is there for reading; nil when that is not permitted.
    func open() throws(RootError) -> IdentifiedDescriptor? {
        let answer = unsafe withName {
            unsafe sys_openat(directory.number, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        }
        if answer == -EACCES || answer == -EPERM { return nil }
        return try IdentifiedDescriptor(adopting: check(answer, "openat"))
    }
}

extension DirectoryRoot {
    /// Opens the directory that holds `path` and looks at the name.
    /// - Parameters:
    ///   - path: from the root; not the root itself.
    ///   - followsLink: whether a link at the name is replaced by its target, which must exist.
    /// - Returns: the place.
    /// - Throws: ``RootError/parentMissing``; ``RootError/forbidden`` for a link that leads outside or nowhere.
    func locate(_ path: SharePath, followsLink: Bool) throws(RootError) -> Location {
        guard !path.isRoot else { throw .selfReference }
        var path = path
        for _ in 0..<3 {
            let location = try hold(path)
            guard followsLink, let status = location.status, status.isLink else { return location }
            do throws(RootError) {
                path = try resolver.walk(location.path, flags: sys_o_path).realPath ?? location.path
            } catch {
                throw error == .notFound ? .forbidden : error
            }
            guard !path.isRoot else { throw .isDirectory }
        }
        // Somebody replaces names by links faster than they can be followed.
        throw .forbidden
    }

    private func hold(_ path: SharePath) throws(RootError) -> Location {
        do throws(RootError) {
            let parent = path.parent
            let opened = try resolver.open(parent, flags: sys_o_path | O_DIRECTORY)
            let real = try opened.realPath?.appending(path.name) ?? path
            let location = try Location(directory: opened.descriptor, path: real)
            try refuseShortName(of: location)
            return location
        } catch {
            throw error == .notFound ? .parentMissing : error
        }
    }

    /// Refuses a name that exists but is not listed by its folder: it is the short name of something else.
    private func refuseShortName(of location: borrowing Location) throws(RootError) {
        guard location.status != nil, SharePath.mayBeShort(location.path.name) else { return }
        let folder = try FolderNames(in: location.directory.number, assumesNothing: resolver.doubtsNames)
        guard folder.tellsAllApart || folder.listsLike(location.path.name) else { throw .forbidden }
    }
}
