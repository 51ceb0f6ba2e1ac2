/// What a log-in page needs to know.
public struct LogInPrompt: Sendable {
    /// The address to which its form is posted, percent-encoded: fields `user` (not for a link), `password`, `return`.
    public let action: String
    /// Where to continue after logging in: a path on this server, percent-encoded, with its query.
    public let returnTo: String
    /// Whether it asks for the password of a share link, not of a user.
    public let isForLink: Bool
    /// Whether the page is shown again because the input was wrong.
    public let isWrong: Bool
    /// The browser's `Accept-Language`; nil when absent.
    public let acceptLanguage: String?
}
