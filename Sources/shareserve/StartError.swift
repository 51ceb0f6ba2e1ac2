/// Why the program ends before it serves: one line for a person, and the exit status of `sysexits.h`.
struct StartError: Error {
    /// The meaning of an exit status to whoever started the program.
    enum Status: Int32 {
        case usage = 64
        case noSuchDirectory = 66
        case cannotListen = 69
        case failed = 70
        case cannotWrite = 74
    }

    let status: Status
    let message: String

    /// A value that an option, variable or file gave and that does not mean anything.
    static func usage(_ message: String) -> Self {
        Self(status: .usage, message: message)
    }

    /// A setting that is given, and given nothing.
    static func emptyValue(of setting: String) -> Self { usage("\(setting): the value is empty") }
}
