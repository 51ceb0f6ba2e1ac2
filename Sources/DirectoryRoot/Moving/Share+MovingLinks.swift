import CSyscalls

extension Share {
    /// Refuses to move a link to where it would lead to something else, or nowhere.
    ///
    /// What a link says is moved as it is, and counts from the folder that it is in. For a client, which sees the file
    /// that a link leads to, that file would be gone. To another file system, what the link leads to is copied instead.
    /// - Parameters:
    ///   - from: the place of the link.
    ///   - to: where it is to be.
    /// - Throws: ``RootError/leadsElsewhere``, or what the disk reports.
    func requireSameLead(_ from: borrowing Location, _ to: borrowing Location) throws(RootError) {
        guard from.path.parent != to.path.parent, let found = try? look(at: from.path, waiting: true).status else {
            return
        }
        guard try from.directory.status().device == to.directory.status().device else { return }
        var text = [CChar](repeating: 0, count: SharePath.longestPath + 1)
        let count = unsafe from.withName { name in
            unsafe sys_readlinkat(from.directory.number, name, &text, text.count)
        }
        try check(count, "readlinkat")
        let bytes = text.prefix(count).map { UInt8(bitPattern: $0) }
        guard let path = Self.path(bytes[...], from: to.path.parent) else { throw .leadsElsewhere }
        guard let there = try? look(at: path, waiting: true).status, there.isSame(as: found) else {
            throw .leadsElsewhere
        }
    }

    /// Where a relative link leads by its text; nil for an absolute one, and for what leads out of the root.
    private static func path(_ text: ArraySlice<UInt8>, from folder: SharePath) -> SharePath? {
        guard text.first != SharePath.slash else { return nil }
        var names = folder.components
        for name in text.split(separator: SharePath.slash) where !name.elementsEqual(".".utf8) {
            guard name.elementsEqual("..".utf8) else {
                names.append(name)
                continue
            }
            guard names.popLast() != nil else { return nil }
        }
        return SharePath(unchecked: Array(names.joined(separator: [SharePath.slash])))
    }
}
