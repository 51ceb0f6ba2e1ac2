extension Share {
    /// What this requester may do at `path` (from the root), under whichever spelling the disk knows it.
    ///
    /// Waits for the disk only if a rule exists for the same place in another spelling.
    package func granted(at path: SharePath) -> Rights { granted(at: path) { root.confuses($0) } }

    /// The same, with a closure that tells how the disk treats other spellings.
    func granted(at path: SharePath, where isOne: (OtherSpelling) -> Bool) -> Rights {
        rights.rights(at: path) { $0.allSatisfy(isOne) }
    }

    /// Whether `wanted` holds at `path` (from the root) and everywhere below it, in whichever spelling the disk knows
    /// it.
    package func allows(_ wanted: Rights, throughout path: SharePath) -> Bool {
        rights.allows(wanted, throughout: path) { $0.allSatisfy(root.confuses) }
    }
}
