package import DirectoryRoot

extension Request {
    /// Tells the log of the first failed system call among `errors`: failures of single members, which the answer names
    /// while it goes on.
    ///
    /// One line of each request; a disk that fails fails for every member.
    package func log(failureAmong errors: some Sequence<RootError>) {
        let failure = errors.first { if case .system = $0 { true } else { false } }
        guard let failure else { return }
        storage.exchange?.engine.log(failure)
    }
}
