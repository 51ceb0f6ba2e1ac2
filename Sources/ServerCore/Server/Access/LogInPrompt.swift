/// What a log-in page needs to know.
public struct LogInPrompt: Sendable {
    /// Where its form is posted to, percent-encoded: fields `user`, `password`, `return`.
    public let action: String
    /// Where to go after logging in: a path of this server, percent-encoded, with its query.
    public let returnTo: String
    /// Whether the page is shown again because the user or the password was wrong.
    public let isWrong: Bool
    /// What languages the browser likes; nil when it did not say.
    public let acceptLanguage: String?
}
