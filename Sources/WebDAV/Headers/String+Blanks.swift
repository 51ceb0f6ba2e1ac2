extension StringProtocol {
    /// The text without leading and trailing spaces and tabs.
    var trimmingBlanks: String {
        var rest = self[...]
        while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
        return String(rest)
    }
}
