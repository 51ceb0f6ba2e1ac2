import ArgumentParser
import Glibc

// Everything that goes wrong before the share is served ends here: one line, and a status that scripts can tell apart.
do {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "link": try LinkCommand.parse(Array(arguments.dropFirst())).run()
    case "hash-password": try HashPasswordCommand.parse(Array(arguments.dropFirst())).run()
    default: try await ServeCommand.parse(arguments).run()
    }
} catch let error as StartError {
    StandardStreams.complain("shareserve: \(error.message)")
    exit(error.status.rawValue)
} catch {
    let status = ServeCommand.exitCode(for: error)
    if status == .success {
        StandardStreams.print(ServeCommand.fullMessage(for: error))
    } else {
        StandardStreams.complain("shareserve: \(ServeCommand.message(for: error)) (--help lists the options)")
    }
    exit(status.rawValue)
}
