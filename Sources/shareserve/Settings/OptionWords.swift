/// The options that the words of a command line may hold; some of them may be values of others, or stand behind `--`.
struct OptionWords: Sendable {
    /// Without their dashes, and what follows a `=`.
    let long: Set<String>
    /// Whether there are any with one dash.
    let holdShortOnes: Bool

    init(_ words: [String]) {
        let options = words.filter { $0.hasPrefix("-") }
        holdShortOnes = options.contains { !$0.hasPrefix("--") }
        long = Set(options.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2).prefix { $0 != "=" }) })
    }
}
