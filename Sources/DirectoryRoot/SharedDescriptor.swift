import CSyscalls

/// One open descriptor that several objects use; closed when the last reference goes.
package final class SharedDescriptor: Sendable {
    package let number: Int32

    /// Takes over a descriptor.
    package init(_ descriptor: consuming Descriptor) {
        number = descriptor.release()
    }

    deinit { _ = sys_close(number) }
}
