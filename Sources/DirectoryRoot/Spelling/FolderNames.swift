import CSyscalls

/// How one folder tells names apart: letter by letter, or taking other spellings for one.
///
/// What the file system says of itself, and where it says nothing, what it does with names that are there. What cannot
/// be found out counts as a folder that takes names for each other. All of it may wait for the disk; asked only where a
/// name was used that is like one that matters.
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

    /// The same for a folder that need not be there: one that is made is as the folder that it is made in.
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
    ///   - assumesNothing: takes the folder for one that does not tell names apart.
    /// - Throws: ``RootError/tooMany`` without a descriptor left.
    init(in directory: Int32, assumesNothing: Bool) throws(RootError) {
        let answer = unsafe sys_openat(directory, ".", O_RDONLY | O_DIRECTORY, 0)
        isReadable = answer >= 0
        folder = try isReadable ? Descriptor(owning: answer) : Descriptor(sys_dup(directory), "dup")
        kind = assumesNothing ? sys_names_confused : sys_names_kind(folder.number)
    }

    /// Whether a name can never stand for another one.
    var tellsAllApart: Bool { kind == sys_names_apart }

    /// Whether two names that are alike may be one here.
    func mayTake(_ name: [UInt8], for other: [UInt8]) -> Bool {
        guard kind == sys_names_unknown else { return kind == sys_names_confused }
        switch compare(name, other) {
        case .apart: return false
        case .one: return true
        case .unknown: return name.map(NameKey.lowered) != other.map(NameKey.lowered) || mayIgnoreCase
        }
    }

    /// Whether the letters of `name` may be written otherwise here.
    func mayRespell(_ name: [UInt8]) -> Bool {
        guard kind == sys_names_unknown else { return kind == sys_names_confused }
        guard name.allSatisfy({ $0 < 0x80 }) else { return true }
        // With more at its end than another name has, it is a file's own name only where the folder lists it.
        guard !NameKey.isCut(name) || lists(name) else { return true }
        switch compare(name, NameKey.swapped(name)) {
        case .apart: return false
        case .one: return true
        case .unknown: return mayIgnoreCase
        }
    }

    /// Whether the folder lists a name that is like this one, so that it is not the short name of another.
    func listsLike(_ name: some Collection<UInt8>) -> Bool {
        let key = NameKey(name)
        return unsafe lists { unsafe NameKey($0) == key }
    }

    /// Whether the folder lists exactly this name.
    func lists(_ name: [UInt8]) -> Bool { unsafe lists { unsafe $0.elementsEqual(name) } }

    /// The listed name that has the same letters, in whole or in parts (Unicode's canonical equivalence); nil where
    /// none has.
    func listedEquivalent(of name: some Collection<UInt8>) -> [UInt8]? {
        guard let text = String(validating: name, as: UTF8.self) else { return nil }
        var found: [UInt8]?
        _ = unsafe lists { other in
            // Most names are out of the question by their letters.
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
        /// Neither is there.
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
            // Numbers of files do not last everywhere, but a folder lists both names of two files.
            return lists(name) && lists(other) ? .apart : .one
        default: return .one
        }
    }

    /// Whether case is ignored, from what is there; yes where nothing there tells.
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

    /// No where the folder cannot be read.
    private func lists(_ isSought: (UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
        unsafe (try? isReadable && DirectoryReader.lists(in: folder.number, isSought)) ?? false
    }
}
