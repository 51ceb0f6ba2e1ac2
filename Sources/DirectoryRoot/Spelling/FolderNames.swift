import CSyscalls

/// How one folder compares names: byte by byte, or taking several spellings for one name.
///
/// Determined by what the file system reports about itself or, if it reports nothing, by what it does with names that
/// exist. When this can't be found out, the folder is assumed to take several spellings for one. All of it may wait for
/// the disk; used only for a name that resembles one with a rule.
struct FolderNames: ~Copyable {
    private let folder: Descriptor
    private let kind: Int32
    private let isReadable: Bool

    /// - Parameters:
    ///   - path: of the folder, from the root.
    ///   - resolver: of the root.
    /// - Throws: what keeps the folder from being opened.
    init(of path: SharePath, by resolver: Resolver) throws(RootError) {
        let opened = try resolver.find(path, flags: sys_o_path | O_DIRECTORY)
        try self.init(in: opened.descriptor.number, assumesNothing: resolver.doubtsNames)
    }

    /// The same for a folder that need not exist: one that is created compares names as its parent does.
    init(nearest path: SharePath, by resolver: Resolver) throws(RootError) {
        var path = path
        while true {
            do throws(RootError) {
                self = try FolderNames(of: path, by: resolver)
                return
            } catch {
                guard error == .notFound, !path.isRoot else { throw error }
                path = path.parent
            }
        }
    }

    /// - Parameters:
    ///   - directory: the folder; stays the caller's.
    ///   - assumesNothing: assumes that the folder takes several spellings for one name.
    /// - Throws: ``RootError/tooMany`` without a descriptor left.
    init(in directory: Int32, assumesNothing: Bool) throws(RootError) {
        let answer = unsafe sys_openat(directory, ".", O_RDONLY | O_DIRECTORY, 0)
        isReadable = answer >= 0
        folder = try isReadable ? Descriptor(owning: answer) : Descriptor(sys_dup(directory), "dup")
        kind = assumesNothing ? sys_names_confused : sys_names_kind(folder.number)
    }

    /// Whether names that differ in any byte are always different names.
    var tellsAllApart: Bool { kind == sys_names_apart }

    /// Whether two names that resemble each other may be one here.
    func mayTake(_ name: [UInt8], for other: [UInt8]) -> Bool {
        guard kind == sys_names_unknown else { return kind == sys_names_confused }
        switch compare(name, other) {
        case .apart: return false
        case .one: return true
        case .unknown: return name.map(NameKey.lowered) != other.map(NameKey.lowered) || mayIgnoreCase
        }
    }

    /// Whether `name` may also be written in another spelling here.
    func mayRespell(_ name: [UInt8]) -> Bool {
        guard kind == sys_names_unknown else { return kind == sys_names_confused }
        guard name.allSatisfy({ $0 < 0x80 }) else { return true }
        // If the key leaves out characters at its end, it is a file's own name only when the folder lists it.
        guard !NameKey.isCut(name) || lists(name) else { return true }
        switch compare(name, NameKey.swapped(name)) {
        case .apart: return false
        case .one: return true
        case .unknown: return mayIgnoreCase
        }
    }

    /// Whether the folder lists a name that resembles this one, so that it is not the short name of another file.
    func listsLike(_ name: some Collection<UInt8>) -> Bool {
        let key = NameKey(name)
        return unsafe lists { unsafe NameKey($0) == key }
    }

    /// Whether the folder lists exactly this name.
    func lists(_ name: [UInt8]) -> Bool { unsafe lists { unsafe $0.elementsEqual(name) } }

    /// The listed name that is canonically equivalent in Unicode (NFC or NFD); nil when there is none.
    func listedEquivalent(of name: some Collection<UInt8>) -> [UInt8]? {
        guard let text = String(validating: name, as: UTF8.self) else { return nil }
        var found: [UInt8]?
        _ = unsafe lists { other in
            // Most names are ruled out because they are ASCII only.
            guard unsafe other.contains(where: { $0 >= 0x80 }), unsafe String(validating: other, as: UTF8.self) == text
            else { return false }
            found = unsafe Array(other)
            return true
        }
        return found
    }

    private enum Comparison {
        case apart
        case one
        /// Neither exists.
        case unknown
    }

    private func compare(_ name: [UInt8], _ other: [UInt8]) -> Comparison {
        if name == other { return .unknown }
        var (first, second) = (sys_attributes(), sys_attributes())
        let found = unsafe CString.with(name) { unsafe sys_statat(folder.number, $0, &first) }
        let known = unsafe CString.with(other) { unsafe sys_statat(folder.number, $0, &second) }
        switch (found, known) {
        case (-ENOENT, -ENOENT): return .unknown
        case (0, -ENOENT), (-ENOENT, 0): return .apart
        case (0, 0) where !first.isSame(as: second):
            // Inode numbers are not stable everywhere, but a folder lists both names of two files.
            return lists(name) && lists(other) ? .apart : .one
        default: return .one
        }
    }

    /// Whether case is ignored, judging by the names that exist; true when they do not show it.
    private var mayIgnoreCase: Bool {
        var tries = 0
        var answer = true
        _ = unsafe lists { name in
            switch unsafe compare(Array(name), NameKey.swapped(name)) {
            case .apart: answer = false
            case .one: answer = true
            case .unknown: return false
            }
            tries += 1
            return !answer || tries == Self.mostTries
        }
        return answer
    }

    private static let mostTries = 8

    /// False when the folder can't be read.
    private func lists(_ isSought: (UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
        unsafe (try? isReadable && DirectoryReader.lists(in: folder.number, isSought)) ?? false
    }
}
