import CSyscalls

/// Writes all of some bytes to an open file; waits for the disk.
/// - Parameters:
///   - bytes: the bytes to write.
///   - descriptor: of the file.
///   - offset: of the first byte; advanced past what was written, even when not all could be.
/// - Throws: why the disk refused them.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: inout Int64) throws(RootError) {
    var rest = unsafe bytes
    while unsafe !rest.isEmpty {
        let count = try unsafe check(sys_pwrite(descriptor, rest.baseAddress, rest.count, offset), "pwrite")
        // If the disk writes nothing and reports no error, this would loop for ever.
        guard count > 0 else { throw .noSpace }
        offset += Int64(count)
        unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest[count...])
    }
}
