package import DirectoryRoot

extension Request {
    /// Logs the first failed system call among `errors`: failures of single members, which the response names while it
    /// continues.
    ///
    /// At most one line per request: a disk that fails does so for every member.
    package func log(failureAmong errors: some Sequence<RootError>) {
        let failure = errors.first { if case .system = $0 { true } else { false } }
        guard let failure else { return }
        storage.exchange?.engine.log(failure)
    }
}
