import ArgumentParser
import Glibc

// Everything that goes wrong before the share is served ends here: one line, and a status that scripts can tell apart.
let words = Array(CommandLine.arguments.dropFirst())
let verbs: [String: any ParsableCommand.Type] = ["link": LinkCommand.self, "hash-password": HashPasswordCommand.self]
let verb = words.first.flatMap { verbs[$0] }
let command = verb ?? ServeCommand.self
do {
    var parsed = try command.parseAsRoot(verb == nil ? words : Array(words.dropFirst()))
    if let serve = parsed as? ServeCommand {
        let (settings, logger) = try serve.prepare()
        try await serve.run(settings, logger)
    } else {
        try parsed.run()
    }
} catch let error as StartError {
    StandardStreams.complain("shareserve: \(error.message)")
    exit(error.status.rawValue)
} catch {
    let status = command.exitCode(for: error)
    if status == .success {
        StandardStreams.print(command.fullMessage(for: error))
    } else {
        StandardStreams.complain("shareserve: \(command.message(for: error)) (--help lists the options)")
    }
    exit(status.rawValue)
}
