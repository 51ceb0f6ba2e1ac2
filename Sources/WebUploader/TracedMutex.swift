#if SANITIZE_THREAD
    import DirectoryRoot

    typealias Mutex = TracedMutex
#endif
