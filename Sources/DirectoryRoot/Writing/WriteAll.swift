import CSyscalls

/// Writes all of some bytes to an open file; waits for the disk.
/// - Parameters:
///   - bytes: what is written.
///   - descriptor: of the file.
///   - offset: where the first of them goes; moved behind what was written, also where not all could be.
/// - Throws: what the disk has against it.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: inout Int64) throws(RootError) {
    var rest = unsafe bytes
    while unsafe !rest.isEmpty {
        let count = try unsafe check(sys_pwrite(descriptor, rest.baseAddress, rest.count, offset), "pwrite")
        // A disk that takes nothing and says nothing would keep us here for ever.
        guard count > 0 else { throw .noSpace }
        offset += Int64(count)
        unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest[count...])
    }
}
