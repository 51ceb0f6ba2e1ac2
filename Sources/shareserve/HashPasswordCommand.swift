import ArgumentParser
import ServerCore

/// `shareserve hash-password [USER]`: reads a password without echoing it, prints the value for `--auth`.
struct HashPasswordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shareserve hash-password",
        abstract: "Makes the hash of a password for --auth and --auth-file.",
        discussion: """
            The password is asked for twice on a terminal, else read as the first line of standard input. Printed is \
            USER:HASH, or the hash alone without a user.
            """)

    @Argument(help: "The user; needed for a digest hash, which holds for this name alone.")
    var user: String?

    @Option(
        help: .init(
            "yescrypt, sha512, bcrypt or digest; a digest hash also serves clients that never send the password.",
            valueName: "kind"))
    var kind = "yescrypt"

    /// Prints the hash.
    ///
    /// - Throws: ``StartError`` when there is no password, it cannot be hashed, or the output cannot be written.
    func run() throws {
        guard let kind = PasswordHash(rawValue: kind) else {
            throw StartError.usage("kind: '\(kind)' is none of yescrypt, sha512, bcrypt, digest")
        }
        guard kind != .digest || user != nil else {
            throw StartError.usage("a digest hash needs the user: shareserve hash-password --kind digest USER")
        }
        if let user, user.isEmpty || user.contains(where: { $0 == ":" || $0 == "\"" || $0.isNewline }) {
            throw StartError.usage("a user's name is not empty, and holds no colon, quote or new line")
        }
        let password = try PasswordPrompt.read()
        let hash: String
        do throws(AccessRuleError) {
            hash = try kind.make(password: password, user: user ?? "")
        } catch {
            throw StartError.usage(error.reason)
        }
        try StandardStreams.deliver(user.map { "\($0):\(hash)" } ?? hash)
    }
}
