extension RightsMap {
    /// The rights at `path` where a disk may take other spellings for it: the intersection of what holds for any of
    /// them.
    ///
    /// A rule grants rights in its exact spelling only; a rule for the same place in another spelling can only take
    /// rights away.
    /// - Parameters:
    ///   - path: from the root.
    ///   - areOne: whether the disk takes all of these names for each other; asked only when a rule resembles `path`.
    /// - Returns: at most ``rights(at:)``.
    func rights(at path: SharePath, areOne: ([OtherSpelling]) -> Bool) -> Rights {
        let written = rights(at: path)
        guard !written.isEmpty else { return written }
        var depth = 0
        var meant = written
        for rule in rules where !rule.path.isRoot {
            guard let spellings = path.spellings(of: rule.path), !spellings.isEmpty, rule.path.depth <= path.depth,
                rule.path.depth >= depth, areOne(spellings)
            else { continue }
            let here = rights(at: rule.path)
            meant = rule.path.depth > depth ? here : meant.intersection(here)
            depth = rule.path.depth
        }
        guard depth > 0 else { return written }
        // A deeper rule in exactly the requested spelling takes precedence.
        let isOverruled = rules.contains { $0.path.depth > depth && $0.path.contains(path) }
        return isOverruled ? written : written.intersection(meant)
    }

    /// As ``allows(_:throughout:)``, where a disk may take other spellings for `path`.
    func allows(_ wanted: Rights, throughout path: SharePath, areOne: ([OtherSpelling]) -> Bool) -> Bool {
        allows(wanted, throughout: path) && rights(at: path, areOne: areOne).isSuperset(of: wanted)
            && rules.allSatisfy { rule in
                guard rule.path.depth > path.depth, !rights(at: rule.path).isSuperset(of: wanted),
                    let spellings = path.spellings(of: rule.path), !spellings.isEmpty
                else { return true }
                return !areOne(spellings)
            }
    }

    /// The rules for places below `path`, in whatever spelling.
    package func rules(below path: SharePath) -> [(path: SharePath, rights: Rights)] {
        rules.filter { $0.path.depth > path.depth && path.spellings(of: $0.path) != nil }
    }

    /// Whether a rule at `path`, above or below it may be meant by it in another spelling.
    func mayMean(_ path: SharePath) -> Bool {
        rules.contains { rule in !rule.path.isRoot && path.spellings(of: rule.path)?.isEmpty == false }
    }
}
