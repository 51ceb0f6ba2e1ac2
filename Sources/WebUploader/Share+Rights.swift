import DirectoryRoot

extension Share {
    /// The requester's rights at `path`, limited by the share's policy; may wait for the disk.
    func effectiveRights(at path: SharePath) -> Rights {
        guard let absolute = try? base.appending(path) else { return .none }
        let granted = self.granted(at: absolute)
        if root.policy.isReadOnly { return granted.intersection(.readOnly) }
        var refused: Rights = []
        if root.policy.refusesDelete { refused.insert(.delete) }
        if root.policy.refusesOverwrite { refused.insert(.overwrite) }
        return granted.subtracting(refused)
    }

    /// Whether this requester may read what is at `path`.
    func mayRead(_ path: SharePath) -> Bool { effectiveRights(at: path).contains(.read) }
}
