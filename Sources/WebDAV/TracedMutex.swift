#if SANITIZE_THREAD
    internal import DirectoryRoot

    typealias Mutex = TracedMutex
#endif
