import Dispatch

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Asks for a password on the terminal without echoing it.
enum PasswordPrompt {
    /// The password, asked for twice; the first line of standard input if that is not a terminal.
    static func read() throws -> String {
        guard isatty(STDIN_FILENO) == 1 else {
            guard let line = readLine(), !line.isEmpty else { throw StartError.usage("no password on standard input") }
            return line
        }
        let first = try ask("Password: ")
        guard try ask("Once more: ") == first else { throw StartError.usage("the two passwords differ") }
        return first
    }

    private static func ask(_ prompt: String) throws -> String {
        let terminal = try Terminal()
        let line = try terminal.hidingWhatIsTyped {
            StandardStreams.ask(prompt)
            return readLine()
        }
        StandardStreams.ask("\n")
        guard let line, !line.isEmpty else { throw StartError.usage("the password is empty") }
        return line
    }
}

/// The terminal on standard input.
private struct Terminal {
    private let usual: termios

    init() throws {
        var usual = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &usual) == 0 else { throw StartError.usage("cannot hide what is typed") }
        self.usual = usual
    }

    /// Turns echo off during `body`, and on again after it; also when a signal ends the process meanwhile, since the
    /// terminal would stay silent in the shell.
    func hidingWhatIsTyped<Answer>(_ body: () -> Answer) throws -> Answer {
        let fatal = [SIGINT, SIGQUIT, SIGTERM, SIGHUP]
        let watching = DispatchGroup()
        let watches = fatal.map { number in
            signal(number, SIG_IGN)
            let watch = DispatchSource.makeSignalSource(signal: number, queue: .global())
            watch.setEventHandler {
                set(usual)
                signal(number, SIG_DFL)
                kill(getpid(), number)
            }
            watching.enter()
            watch.setRegistrationHandler { watching.leave() }
            watch.resume()
            return watch
        }
        // A signal that arrives before its watch is active would be lost.
        watching.wait()
        defer {
            set(usual)
            for watch in watches { watch.cancel() }
            for number in fatal { signal(number, SIG_DFL) }
        }
        var hidden = usual
        hidden.c_lflag &= ~tcflag_t(ECHO)
        guard set(hidden) == 0 else { throw StartError.usage("cannot hide what is typed") }
        return body()
    }

    @discardableResult
    private func set(_ settings: termios) -> Int32 {
        var settings = settings
        return unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }
}
