extension StringProtocol {
    /// The text without the spaces and tabs around it.
    var trimmingBlanks: String {
        var rest = self[...]
        while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
        return String(rest)
    }
}
