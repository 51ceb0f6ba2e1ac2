/// The options that may occur in the words of a command line; some may be values of others, or come after `--`.
struct OptionWords: Sendable {
    /// The long ones, without dashes and without `=` and what follows.
    let long: Set<String>
    /// Whether any word has a single dash.
    let holdShortOnes: Bool

    init(_ words: [String]) {
        let options = words.filter { $0.hasPrefix("-") }
        holdShortOnes = options.contains { !$0.hasPrefix("--") }
        long = Set(options.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2).prefix { $0 != "=" }) })
    }
}
