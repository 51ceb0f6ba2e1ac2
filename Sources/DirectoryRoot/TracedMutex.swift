#if SANITIZE_THREAD
    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Musl)
        import Musl
    #else
        import Glibc
    #endif

    /// A `Mutex` that the thread sanitizer understands; in that build every module uses it instead of the standard
    /// library's.
    ///
    /// The standard one waits on a futex, which the sanitizer can't see, so that every access to what it guards would
    /// be reported as a race.
    @safe package final class TracedMutex<Value>: @unchecked Sendable {
        private var value: Value
        private let lock: UnsafeMutablePointer<pthread_mutex_t>

        package init(_ value: sending Value) {
            self.value = value
            unsafe lock = .allocate(capacity: 1)
            unsafe pthread_mutex_init(lock, nil)
        }

        deinit {
            unsafe pthread_mutex_destroy(lock)
            unsafe lock.deallocate()
        }

        package func withLock<Answer, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Answer
        ) throws(Failure) -> sending Answer {
            unsafe pthread_mutex_lock(lock)
            defer { unsafe pthread_mutex_unlock(lock) }
            return try body(&value)
        }

        package func withLockIfAvailable<Answer, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Answer
        ) throws(Failure) -> sending Answer? {
            guard unsafe pthread_mutex_trylock(lock) == 0 else { return nil }
            defer { unsafe pthread_mutex_unlock(lock) }
            return try body(&value)
        }
    }

    typealias Mutex = TracedMutex
#endif
