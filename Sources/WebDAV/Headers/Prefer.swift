internal import ServerCore

/// What a client prefers not to receive: RFC 7240, RFC 8144, and Microsoft's `Brief: t`.
struct Prefer: Hashable, Sendable {
    /// Leave out what failed with 404, and bodies that only report success.
    private(set) var isMinimal = false
    /// The members without the target itself.
    private(set) var leavesOutTarget = false
    private var isBrief = false

    init(of request: Request) {
        self.init(header: request.fields["prefer"] ?? "")
        if request.fields["brief"]?.trimmingBlanks.lowercased() == "t" {
            isBrief = true
            isMinimal = true
        }
    }

    init(header: String) {
        for preference in header.split(separator: ",") {
            let text = preference.prefix { $0 != ";" }.trimmingBlanks.lowercased().filter { $0 != " " && $0 != "\"" }
            if text == "return=minimal" { isMinimal = true }
            if text == "depth-noroot" { leavesOutTarget = true }
        }
    }

    /// Names in a response the preferences that were applied, and the fields that a cache must compare.
    func note(in fields: inout ResponseFields) {
        fields.add("Vary", "Brief, Prefer, Accept-Encoding")
        var applied: [String] = []
        if isMinimal, !isBrief { applied.append("return=minimal") }
        if leavesOutTarget { applied.append("depth-noroot") }
        if !applied.isEmpty { fields.add("Preference-Applied", applied.joined(separator: ", ")) }
    }
}
