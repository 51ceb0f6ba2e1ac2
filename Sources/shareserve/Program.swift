import ArgumentParser
import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Runs the program, from the words of the command line to the end of the process.
///
/// Every error before the share is served ends here: one line, and an exit status that scripts can tell apart.
enum Program {
    /// Runs the command that the words name, and ends the process.
    static func run() -> Never {
        StandardStreams.openMissing()
        Signals.endFirstProcess()
        Surroundings.keepOwnRights()
        let words: [String]
        do {
            words = Array(try commandLine().dropFirst())
            try requireValues(words)
        } catch {
            end(error, command: SectionedServeCommand.self)
        }
        switch words.first {
        case "link": print(LinkCommand.self, words.dropFirst())
        case "hash-password": print(HashPasswordCommand.self, words.dropFirst())
        default: serve(words)
        }
    }

    /// The words of the command line, the program's name first.
    ///
    /// Swift searches for them on the stack, below the environment, and finds none if a library that was loaded before
    /// the program has moved the environment: then the share would be served without any of its rules.
    ///
    /// - Throws: ``StartError`` for a word that is not UTF-8; the word is not shown, since it may hold a password. With
    ///   replacement characters it would be another path, another password, or a pattern that hides nothing.
    private static func commandLine() throws(StartError) -> [String] {
        guard sys_knows_arguments() else { return CommandLine.arguments }
        var words: [String] = []
        while let word = unsafe sys_argument(Int32(words.count)) {
            // The path of the program itself may be in any encoding.
            guard let text = unsafe words.isEmpty ? String(cString: word) : String(validatingCString: word) else {
                throw .usage(
                    "word \(words.count) of the command line is not UTF-8; a directory of such a name is shared from inside it"
                )
            }
            words.append(text)
        }
        return words
    }

    /// Refuses `--option=` with an empty value: the parser would take the next word as the value, which is the
    /// directory, and another directory would be shared.
    private static func requireValues(_ words: [String]) throws(StartError) {
        for word in words.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
            let name = word.dropFirst(2).prefix { $0 != "=" }
            if word.dropFirst(2 + name.count) == "=" { throw .emptyValue(of: String(name)) }
        }
    }

    /// Serves until the end.
    ///
    /// The first thread waits here for signals, in a plain system call. Swift's own asynchronous main would leave it
    /// behind as a thread that glibc takes for ended, and that keeps root's rights when all others give them up.
    private static func serve(_ words: [String]) -> Never {
        // Anything else that the words ask for, and any error in them, is handled by the command with the
        // documentation.
        guard let command = try? ServeCommand.reading(words) else {
            print(SectionedServeCommand.self, words[...])
        }
        do {
            let (settings, logger) = try command.prepare()
            Signals.hold()
            Task.detached {
                do {
                    try await ServeCommand.serve(settings, logger)
                    exit(0)
                } catch {
                    end(error, command: SectionedServeCommand.self)
                }
            }
            // The code that only the beginning needs, 4 MB. Here, so that the start does not wait for it; and not later,
            // when it would be the requests' own.
            sys_forget_code()
            Signals.receive()
        } catch {
            end(error, command: SectionedServeCommand.self)
        }
    }

    /// Runs a command that prints its result.
    private static func print(_ command: any ParsableCommand.Type, _ words: ArraySlice<String>) -> Never {
        do {
            if command != SectionedServeCommand.self, words.contains(where: { $0.hasPrefix(completions) }) {
                // The parser would generate a script that no shell can read, since the command's name has two words.
                throw StartError.usage("completions are of the whole program: shareserve \(completions) bash")
            }
            var parsed = try command.parseAsRoot(Array(words))
            try parsed.run()
            exit(0)
        } catch {
            end(error, command: command)
        }
    }

    private static let completions = "--generate-completion-script"

    private static func end(_ error: any Error, command: any ParsableCommand.Type) -> Never {
        if let error = error as? StartError {
            StandardStreams.complain("shareserve: \(error.message.harmless)")
            exit(error.status.rawValue)
        }
        let status = command.exitCode(for: error)
        if status == .success {
            do throws(StartError) {
                try StandardStreams.deliver(command.fullMessage(for: error))
            } catch {
                end(error, command: command)
            }
        } else {
            let lines = command.message(for: error).split(separator: "\n").map { $0.drop(while: \.isWhitespace) }
            StandardStreams.complain("shareserve: \(lines.joined(separator: " ").harmless) (--help lists the options)")
        }
        exit(status.rawValue)
    }
}
