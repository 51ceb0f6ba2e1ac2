import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The kernel's queue of changes in watched directories; where there is none, nothing can be watched.
///
/// ``watch(_:)`` and ``unwatch(_:)`` may be called from any thread, ``events(within:)`` by one thread at a time.
@safe final class Inotify: @unchecked Sendable {
    /// One change.
    struct Event {
        var watch: Int32
        var mask: UInt32
        var name: [UInt8]

        /// Only the content or the attributes changed, of something with a name like those that the kernel shows for
        /// files without one: `#12`.
        var mayBeOfUnnamedFile: Bool {
            mask & ~(Mask.modified | Mask.attributes | Mask.closedWritten) == 0
                && name.count > 1 && name[0] == UInt8(ascii: "#")
                && name.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
        }

        /// Events were lost.
        var isOverflow: Bool { mask & Mask.overflow != 0 }
        /// The watch is gone: the directory was deleted, or its file system unmounted.
        var endsWatch: Bool { mask & Mask.ignored != 0 }
        /// The directory itself was deleted, moved or unmounted.
        var isOfDirectory: Bool { mask & (Mask.deletedSelf | Mask.movedSelf | Mask.unmounted) != 0 }
    }

    /// The bits of `inotify(7)`, which other systems do not have.
    private enum Mask {
        static let modified: UInt32 = 0x2
        static let attributes: UInt32 = 0x4
        static let closedWritten: UInt32 = 0x8
        static let movedFrom: UInt32 = 0x40
        static let movedTo: UInt32 = 0x80
        static let created: UInt32 = 0x100
        static let deleted: UInt32 = 0x200
        static let deletedSelf: UInt32 = 0x400
        static let movedSelf: UInt32 = 0x800
        static let unmounted: UInt32 = 0x2000
        static let overflow: UInt32 = 0x4000
        static let ignored: UInt32 = 0x8000
        static let onlyDirectory: UInt32 = 0x100_0000
        /// Do not report on open files whose name was removed.
        static let excludeUnlinked: UInt32 = 0x400_0000

        /// What is watched of each directory.
        static let watched =
            modified | attributes | closedWritten | movedFrom | movedTo | created | deleted | deletedSelf | movedSelf
            | onlyDirectory | excludeUnlinked
    }

    private let descriptor: Int32
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    init?() {
        descriptor = sys_inotify()
        guard descriptor >= 0 else {
            unsafe buffer.deallocate()
            return nil
        }
    }

    deinit {
        if descriptor >= 0 {
            _ = sys_close(descriptor)
            unsafe buffer.deallocate()
        }
    }

    /// Watches the open directory; returns the same number for the same directory.
    ///
    /// Nil when no more directories can be watched.
    func watch(_ directory: Int32) -> Int32? {
        let watch = sys_inotify_add(descriptor, directory, Mask.watched)
        return watch >= 0 ? watch : nil
    }

    func unwatch(_ watch: Int32) { _ = sys_inotify_remove(descriptor, watch) }

    /// Waits up to `milliseconds` for events; empty when none came.
    func events(within milliseconds: Int32) -> [Event] {
        var asked = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&asked, 1, milliseconds) > 0 else { return [] }
        var events: [Event] = []
        // A limit, not until the queue is empty: a busy folder must not keep the thread here.
        for _ in 0..<16 {
            let count = unsafe sys_read(descriptor, buffer.baseAddress, buffer.count)
            guard count > 0 else { break }
            unsafe append(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: &events)
        }
        return events
    }

    private func append(_ records: UnsafeRawBufferPointer, to events: inout [Event]) {
        var position = 0
        while position + 16 <= records.count {
            let length = unsafe Int(records.loadUnaligned(fromByteOffset: position + 12, as: UInt32.self))
            guard position + 16 + length <= records.count else { return }
            let name = unsafe records[(position + 16)..<(position + 16 + length)].prefix { $0 != 0 }
            unsafe events.append(
                Event(
                    watch: records.loadUnaligned(fromByteOffset: position, as: Int32.self),
                    mask: records.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self), name: Array(name)))
            position += 16 + length
        }
    }
}
