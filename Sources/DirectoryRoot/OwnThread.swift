import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Threads for one purpose each, made by the system itself.
///
/// libdispatch would have whoever wants a thread wait, for ever if need be, while the system has none to give.
package enum OwnThread {
    private final class Body: Sendable {
        private let name: String
        private let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            unsafe sys_name_thread(name)
            body()
        }
    }

    /// Runs `body` on a new thread, which ends with it.
    /// - Parameters:
    ///   - name: what the system shows it as; at most 15 bytes.
    ///   - body: may take as long as it likes.
    /// - Returns: false when the system has no more threads; `body` is dropped then.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let context = unsafe Unmanaged.passRetained(Body(name, body)).toOpaque()
        #if canImport(Darwin)
            var thread: pthread_t?
            let status = unsafe pthread_create(
                &thread, nil,
                { context in
                    // Apple's headers say nil can't come, or, seen in another way, that it can.
                    if let context = unsafe context as UnsafeMutableRawPointer? {
                        unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                    }
                    return nil
                }, unsafe context)
            if status == 0, let thread = unsafe thread { unsafe pthread_detach(thread) }
        #else
            var thread = pthread_t()
            let status = unsafe pthread_create(
                &thread, nil,
                { context in
                    if let context = unsafe context {
                        unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                    }
                    return nil
                }, unsafe context)
            if status == 0 { pthread_detach(thread) }
        #endif
        if status != 0 { unsafe Unmanaged<Body>.fromOpaque(context).release() }
        return status == 0
    }
}
