extension Share {
    /// What this requester may do at `path` (from the root), whichever spelling of it the disk knows.
    ///
    /// Waits for the disk only where a rule is for the same place in other letters.
    package func granted(at path: SharePath) -> Rights { granted(at: path) { root.confuses($0) } }

    /// The same, by who knows what the disk makes of other spellings.
    func granted(at path: SharePath, where isOne: (OtherSpelling) -> Bool) -> Rights {
        rights.rights(at: path) { $0.allSatisfy(isOne) }
    }

    /// Whether `wanted` holds at `path` (from the root) and everywhere below it, whichever spelling the disk knows.
    package func allows(_ wanted: Rights, throughout path: SharePath) -> Bool {
        rights.allows(wanted, throughout: path) { $0.allSatisfy(root.confuses) }
    }
}
