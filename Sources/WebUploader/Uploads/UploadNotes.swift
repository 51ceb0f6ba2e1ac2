import DirectoryRoot
import ServerCore

/// What must be remembered between the requests of one upload besides its bytes, stored in its record.
struct UploadNotes: Sendable {
    /// What to do when the name is taken; nil when the creating request's conditions decide.
    var rule: ConflictRule?
    /// `Upload-Metadata` as sent, for HEAD.
    var metadata: String?
    /// `Upload-Concat` as sent, for HEAD.
    var concat: String?
    /// The digest that the whole file must have.
    var digest: ReprDigest?
    /// The creating request's own conditional fields.
    var conditions: [String: String] = [:]

    /// What was at the target when the request began that completes the upload.
    ///
    /// Not stored.
    var before: SeenTarget?

    private static let conditionNames = ["if-match", "if-none-match", "if-unmodified-since"]

    init(rule: ConflictRule?) { self.rule = rule }

    /// The notes for a request at the file's own address.
    init(conditionsOf fields: RequestFields) {
        for name in Self.conditionNames { conditions[name] = fields[name] }
    }

    /// Reads what ``pairs`` wrote.
    init(_ record: UploadRecord) {
        for note in record.notes {
            switch note.name {
            case "rule": rule = ConflictRule(rawValue: note.value)
            case "metadata": metadata = note.value
            case "concat": concat = note.value
            case "digest": digest = try? ReprDigest(field: note.value)
            default: conditions[note.name] = note.value
            }
        }
    }

    /// These notes, with what a later request says about a taken name instead of what was said before.
    func amended(by wish: UploadNotes?) -> UploadNotes {
        guard let wish else { return self }
        var notes = self
        (notes.rule, notes.conditions) = (wish.rule, wish.conditions)
        return notes
    }

    /// The pairs for the record.
    var pairs: [UploadRecord.Note] {
        var pairs: [UploadRecord.Note] = []
        func add(_ name: String, _ value: String?) {
            if let value { pairs.append(UploadRecord.Note(name: name, value: value)) }
        }
        add("rule", rule?.rawValue)
        add("metadata", metadata)
        add("concat", concat)
        add("digest", digest?.text)
        for (name, value) in conditions.sorted(by: { $0.key < $1.key }) { add(name, value) }
        return pairs
    }

    /// What may be at the target.
    var replacement: Replacement {
        if let rule, rule != .replace { return rule.replacement }
        let allowed = Conditions(
            ifMatch: conditions["if-match"], ifNoneMatch: conditions["if-none-match"],
            ifUnmodifiedSince: conditions["if-unmodified-since"])
        guard let before else { return allowed.replacement }
        return .when { before.mayBeReplaced(now: $0) && allowed.evaluate($0, isRead: false) == .proceed }
    }
}
