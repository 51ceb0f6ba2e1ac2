import CSyscalls

/// The raw names of an open directory, one buffer of kernel records at a time, without `.` and `..`.
@safe struct DirectoryReader: ~Copyable {
    let descriptor: Int32
    private let buffer: UnsafeMutableRawBufferPointer
    private var position = 0
    private var filled = 0
    private var isAtEnd = false

    /// - Parameters:
    ///   - descriptor: a directory open for reading; stays the caller's.
    ///   - byteCount: the size of the read buffer.
    init(descriptor: Int32, byteCount: Int = 32_768) {
        self.descriptor = descriptor
        unsafe buffer = .allocate(byteCount: byteCount, alignment: 16)
    }

    deinit { unsafe buffer.deallocate() }

    /// The next record, valid until the next call; nil at the end.
    mutating func next() throws(RootError) -> sys_name? {
        var record = unsafe sys_name()
        while true {
            while unsafe sys_next_name(buffer.baseAddress, filled, &position, &record) == 1 {
                let name = unsafe record.bytes
                guard let first = unsafe name.first else { continue }
                let isDots =
                    unsafe first == UInt8(ascii: ".") && (name.count == 1 || name.count == 2 && name[1] == first)
                if !isDots { return unsafe record }
            }
            if isAtEnd { return nil }
            let answer = unsafe sys_getdents(descriptor, buffer.baseAddress, buffer.count)
            // A directory that was removed while we read it has no more members.
            filled = answer == -ENOENT ? 0 : try check(answer, "getdents64")
            position = 0
            isAtEnd = filled == 0
        }
    }

    /// Passes the next records to `body`, each valid during the call only, until it returns false.
    /// - Returns: false when there are no more.
    mutating func each(_ body: (sys_name) throws(RootError) -> Bool) throws(RootError) -> Bool {
        while let record = try unsafe next() {
            guard try unsafe body(record) else { return true }
        }
        return false
    }

    /// Searches all names of a directory until `isSought` returns true for one.
    /// - Parameters:
    ///   - directory: opened in any mode; its read position is not changed.
    ///   - isSought: gets a name, valid during the call only.
    /// - Returns: whether one was found.
    /// - Throws: what the disk reports.
    static func lists(
        in directory: Int32, _ isSought: (UnsafeBufferPointer<UInt8>) -> Bool
    ) throws(RootError) -> Bool {
        let opened = try unsafe Descriptor(sys_openat(directory, ".", O_RDONLY | O_DIRECTORY, 0), "openat")
        var reader = DirectoryReader(descriptor: opened.number)
        return try unsafe reader.each { (record) throws(RootError) in unsafe !isSought(record.bytes) }
    }
}

extension sys_name {
    /// The name, valid until the next record is read.
    var bytes: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(
            start: UnsafeRawPointer(name).assumingMemoryBound(to: UInt8.self), count: Int(length))
    }
}
