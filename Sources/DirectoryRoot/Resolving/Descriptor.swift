import CSyscalls

/// One open descriptor with one owner, closed at the end of its life.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    /// Takes over an open descriptor.
    init(owning number: Int32) {
        self.number = number
    }

    /// Takes over what an opening call answered, or throws what its negative `errno` means.
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

    /// What the descriptor stands for.
    func status() throws(RootError) -> sys_attributes { try sys_attributes(of: number) }
}
