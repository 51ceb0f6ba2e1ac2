import ServerCore

/// ZIP with stored members, ZIP64 where a number requires it, and checksums after the data.
///
/// APPNOTE 6.3.10.
///
/// The local headers contain the sizes, so that a streaming reader finds each member's end; the CRC-32 follows the data
/// (bit 3), so that a file is read once. Times are extended timestamps in UTC in addition to the two-second DOS fields.
struct ZipFormat: ArchiveFormat {
    let mediaType = "application/zip"
    let fileExtension = ".zip"
    let needsChecksums = true

    private static let large: Int64 = 0xFFFF_FFFF

    func headerLength(of member: ArchiveMember) -> Int {
        30 + member.archiveNameLength + Self.timeLength(member) + (isLarge(member) ? 20 : 0)
    }

    func header(of member: ArchiveMember) -> [UInt8] {
        var head = LittleEndianBytes()
        let isLarge = isLarge(member)
        head.add(0x0403_4B50 as UInt32)
        head.add(isLarge ? 45 : 20 as UInt16)
        addCommon(member, checksum: 0, to: &head)
        head.add(isLarge ? UInt32.max : UInt32(truncatingIfNeeded: member.size))
        head.add(isLarge ? UInt32.max : UInt32(truncatingIfNeeded: member.size))
        head.add(UInt16(truncatingIfNeeded: member.archiveNameLength))
        head.add(UInt16(truncatingIfNeeded: Self.timeLength(member) + (isLarge ? 20 : 0)))
        head.add(member.archiveName)
        if isLarge {
            head.add(1 as UInt16)
            head.add(16 as UInt16)
            head.add(UInt64(bitPattern: member.size))
            head.add(UInt64(bitPattern: member.size))
        }
        addTime(member, to: &head)
        return head.bytes
    }

    func trailerLength(of member: ArchiveMember) -> Int {
        guard hasDescriptor(member) else { return 0 }
        return isLarge(member) ? 24 : 16
    }

    func trailer(of member: ArchiveMember, checksum: UInt32) -> [UInt8] {
        guard hasDescriptor(member) else { return [] }
        var descriptor = LittleEndianBytes()
        descriptor.add(0x0807_4B50 as UInt32)
        descriptor.add(checksum)
        for _ in 0..<2 {
            if isLarge(member) {
                descriptor.add(UInt64(bitPattern: member.size))
            } else {
                descriptor.add(UInt32(truncatingIfNeeded: member.size))
            }
        }
        return descriptor.bytes
    }

    func directoryLength(of member: ArchiveMember, offset: Int64) -> Int {
        46 + member.archiveNameLength + Self.timeLength(member) + largeLength(member, offset: offset)
    }

    func directoryEntry(of member: ArchiveMember, offset: Int64, checksum: UInt32) -> [UInt8] {
        var entry = LittleEndianBytes()
        let large = largeLength(member, offset: offset)
        entry.add(0x0201_4B50 as UInt32)
        entry.add(3 << 8 | 45 as UInt16)
        entry.add(large > 0 ? 45 : 20 as UInt16)
        addCommon(member, checksum: checksum, to: &entry)
        let size = isLarge(member) ? UInt32.max : UInt32(truncatingIfNeeded: member.size)
        entry.add(size)
        entry.add(size)
        entry.add(UInt16(truncatingIfNeeded: member.archiveNameLength))
        entry.add(UInt16(truncatingIfNeeded: Self.timeLength(member) + large))
        entry.add(0 as UInt16)
        entry.add(0 as UInt16)
        entry.add(0 as UInt16)
        // Unix permissions in the upper half, the DOS directory bit in the lower.
        entry.add(member.isDirectory ? 0o040_755 << 16 | 0x10 : 0o100_644 << 16 as UInt32)
        entry.add(offset >= Self.large ? UInt32.max : UInt32(truncatingIfNeeded: offset))
        entry.add(member.archiveName)
        if large > 0 {
            entry.add(1 as UInt16)
            entry.add(UInt16(truncatingIfNeeded: large - 4))
            if isLarge(member) {
                entry.add(UInt64(bitPattern: member.size))
                entry.add(UInt64(bitPattern: member.size))
            }
            if offset >= Self.large { entry.add(UInt64(bitPattern: offset)) }
        }
        addTime(member, to: &entry)
        return entry.bytes
    }

    func end(count: Int, directoryOffset offset: Int64, directoryLength length: Int64) -> [UInt8] {
        var end = LittleEndianBytes()
        let isLarge = count >= 0xFFFF || offset >= Self.large || length >= Self.large
        if isLarge {
            let (recordOffset, _) = offset.addingReportingOverflow(length)
            end.add(0x0606_4B50 as UInt32)
            end.add(44 as UInt64)
            end.add(3 << 8 | 45 as UInt16)
            end.add(45 as UInt16)
            end.add(0 as UInt32)
            end.add(0 as UInt32)
            end.add(UInt64(count))
            end.add(UInt64(count))
            end.add(UInt64(bitPattern: length))
            end.add(UInt64(bitPattern: offset))
            end.add(0x0706_4B50 as UInt32)
            end.add(0 as UInt32)
            end.add(UInt64(bitPattern: recordOffset))
            end.add(1 as UInt32)
        }
        end.add(0x0605_4B50 as UInt32)
        end.add(0 as UInt16)
        end.add(0 as UInt16)
        end.add(UInt16(clamping: count))
        end.add(UInt16(clamping: count))
        end.add(UInt32(clamping: length))
        end.add(UInt32(clamping: offset))
        end.add(0 as UInt16)
        return end.bytes
    }

    private func isLarge(_ member: ArchiveMember) -> Bool { member.size >= Self.large }

    private func hasDescriptor(_ member: ArchiveMember) -> Bool { member.size > 0 }

    /// The length of a directory entry's ZIP64 field; 0 without one.
    private func largeLength(_ member: ArchiveMember, offset: Int64) -> Int {
        let numbers = (isLarge(member) ? 2 : 0) + (offset >= Self.large ? 1 : 0)
        return numbers > 0 ? 4 + 8 * numbers : 0
    }

    /// Flags, method, DOS time and date, checksum: the same in both kinds of header.
    private func addCommon(_ member: ArchiveMember, checksum: UInt32, to head: inout LittleEndianBytes) {
        let isText = UTF8Scan.isValid(member.path)
        head.add((isText ? 0x0800 : 0) | (hasDescriptor(member) ? 0x0008 : 0) as UInt16)
        head.add(0 as UInt16)
        let time = CalendarTime(seconds: member.modified)
        if (1980...2107).contains(time.year) {
            head.add(UInt16(truncatingIfNeeded: time.hour << 11 | time.minute << 5 | time.second / 2))
            head.add(UInt16(truncatingIfNeeded: (time.year - 1980) << 9 | time.month << 5 | time.day))
        } else {
            head.add(0 as UInt16)
            head.add(1 << 5 | 1 as UInt16)
        }
        head.add(checksum)
    }

    /// The length of the extended timestamp; 0 for a time that it can't express.
    private static func timeLength(_ member: ArchiveMember) -> Int {
        Int32(exactly: member.modified) == nil ? 0 : 9
    }

    private func addTime(_ member: ArchiveMember, to head: inout LittleEndianBytes) {
        guard let modified = Int32(exactly: member.modified) else { return }
        head.add(0x5455 as UInt16)
        head.add(5 as UInt16)
        head.add([1])
        head.add(UInt32(bitPattern: modified))
    }
}
