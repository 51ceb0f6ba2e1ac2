import CSyscalls

/// One open descriptor that several objects use; closed when the last reference is released.
final class SharedDescriptor: Sendable {
    let number: Int32

    /// Takes over a descriptor.
    init(_ descriptor: consuming Descriptor) {
        number = descriptor.release()
    }

    deinit { _ = sys_close(number) }
}
