import CSyscalls

/// An open descriptor with a single owner, closed at the end of its life.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    /// Takes over an open descriptor.
    init(owning number: Int32) {
        self.number = number
    }

    /// Takes over what an opening call returned, or throws what its negative `errno` means.
    init(_ answer: Int32, _ call: StaticString) throws(RootError) {
        number = try check(answer, call)
    }

    deinit { _ = sys_close(number) }

    /// Gives the descriptor away, open.
    consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// The status of what the descriptor refers to.
    func status() throws(RootError) -> sys_attributes { try sys_attributes(of: number) }
}
