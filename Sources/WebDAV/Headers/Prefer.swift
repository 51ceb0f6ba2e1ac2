internal import ServerCore

/// What a client would rather not be sent: RFC 7240, RFC 8144, and Microsoft's `Brief: t`.
struct Prefer: Hashable, Sendable {
    /// Leave out what failed with 404, and bodies that only say that all went well.
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

    /// Says in an answer what was heeded, and what a cache has to look at.
    func note(in fields: inout ResponseFields) {
        fields.add("Vary", "Brief, Prefer, Accept-Encoding")
        var applied: [String] = []
        if isMinimal, !isBrief { applied.append("return=minimal") }
        if leavesOutTarget { applied.append("depth-noroot") }
        if !applied.isEmpty { fields.add("Preference-Applied", applied.joined(separator: ", ")) }
    }
}
