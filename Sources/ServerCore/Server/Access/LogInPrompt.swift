/// What a log-in page needs to know.
public struct LogInPrompt: Sendable {
    /// Where its form is posted to, percent-encoded: fields `user` (not for a link), `password`, `return`.
    public let action: String
    /// Where to go after logging in: a path of this server, percent-encoded, with its query.
    public let returnTo: String
    /// Whether it asks for the password of a share link, which is no user's.
    public let isForLink: Bool
    /// Whether the page is shown again because what was typed was wrong.
    public let isWrong: Bool
    /// What languages the browser likes; nil when it did not say.
    public let acceptLanguage: String?
}
