/// Why the program ends before it serves: one line for a person, and an exit status as in `sysexits.h`.
struct StartError: Error {
    /// The exit status, for the process that started the program.
    enum Status: Int32 {
        case usage = 64
        case noSuchDirectory = 66
        case cannotListen = 69
        case failed = 70
        case cannotWrite = 74
    }

    let status: Status
    let message: String

    /// A value from an option, variable or file that cannot be used.
    static func usage(_ message: String) -> Self {
        Self(status: .usage, message: message)
    }

    /// A setting that is given with an empty value.
    static func emptyValue(of setting: String) -> Self { usage("\(setting): the value is empty") }
}
