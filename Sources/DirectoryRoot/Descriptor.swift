package import CSyscalls

/// One open descriptor with one owner, closed at the end of its life.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Takes over an open descriptor.
    package init(owning number: Int32) {
        self.number = number
    }

    /// Takes over what an opening call answered, or throws what its negative `errno` means.
    package init(_ answer: Int32, _ call: StaticString) throws(RootError) {
        number = try check(answer, call)
    }

    deinit { _ = sys_close(number) }

    /// Gives the descriptor away, open.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// What the descriptor stands for.
    package func status() throws(RootError) -> sys_attributes {
        var status = sys_attributes()
        try unsafe check(sys_fstat(number, &status), "fstat")
        return status
    }
}
