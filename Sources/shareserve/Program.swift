import ArgumentParser
import Glibc

/// From the words of the command line to the end of the process.
///
/// Everything that goes wrong before the share is served ends here: one line, and a status that scripts can tell apart.
enum Program {
    /// Runs the command that the words name, and ends the process.
    ///
    /// The first thread waits here for good, in a plain system call. Swift's own asynchronous main would leave it behind
    /// as a thread that glibc takes for ended, and that keeps root's rights when all others give them up.
    static func run() -> Never {
        let verbs: [String: any ParsableCommand.Type] = [
            "link": LinkCommand.self, "hash-password": HashPasswordCommand.self,
        ]
        let words = Array(CommandLine.arguments.dropFirst())
        let verb = words.first.flatMap { verbs[$0] }
        let command = verb ?? ServeCommand.self
        do {
            var parsed = try command.parseAsRoot(verb == nil ? words : Array(words.dropFirst()))
            guard let serve = parsed as? ServeCommand else {
                try parsed.run()
                exit(0)
            }
            let (settings, logger) = try serve.prepare()
            Task.detached {
                do {
                    try await ServeCommand.serve(settings, logger)
                    exit(0)
                } catch {
                    end(error, command: ServeCommand.self)
                }
            }
            while true {
                pause()
            }
        } catch {
            end(error, command: command)
        }
    }

    private static func end(_ error: any Error, command: any ParsableCommand.Type) -> Never {
        if let error = error as? StartError {
            StandardStreams.complain("shareserve: \(error.message.harmless)")
            exit(error.status.rawValue)
        }
        let status = command.exitCode(for: error)
        if status == .success {
            StandardStreams.print(command.fullMessage(for: error))
        } else {
            let lines = command.message(for: error).split(separator: "\n").map { $0.drop(while: \.isWhitespace) }
            StandardStreams.complain("shareserve: \(lines.joined(separator: " ").harmless) (--help lists the options)")
        }
        exit(status.rawValue)
    }
}
