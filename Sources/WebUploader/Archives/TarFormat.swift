/// POSIX tar: a ustar header for each member, preceded by a pax header only if ustar can't express something.
///
/// POSIX.1-2017 pax.
struct TarFormat: ArchiveFormat {
    let mediaType = "application/x-tar"
    let fileExtension = ".tar"
    let needsChecksums = false

    private static let block = 512
    private static let largestOctal: Int64 = 0o77_777_777_777

    func headerLength(of member: ArchiveMember) -> Int {
        let records = paxRecords(of: member)
        return Self.block + (records.isEmpty ? 0 : Self.block + Self.padded(records.count))
    }

    func header(of member: ArchiveMember) -> [UInt8] {
        let records = paxRecords(of: member)
        guard !records.isEmpty else { return ustar(member) }
        var header = block(
            name: Array("pax".utf8), prefix: [], size: Int64(records.count), modified: member.modified,
            type: UInt8(ascii: "x"), mode: 0o644)
        header += records
        header += [UInt8](repeating: 0, count: Self.padded(records.count) - records.count)
        header += ustar(member)
        return header
    }

    func trailerLength(of member: ArchiveMember) -> Int {
        Int((512 - member.size % 512) % 512)
    }

    func trailer(of member: ArchiveMember, checksum: UInt32) -> [UInt8] {
        [UInt8](repeating: 0, count: trailerLength(of: member))
    }

    func directoryLength(of member: ArchiveMember, offset: Int64) -> Int { 0 }

    func directoryEntry(of member: ArchiveMember, offset: Int64, checksum: UInt32) -> [UInt8] { [] }

    func end(count: Int, directoryOffset offset: Int64, directoryLength length: Int64) -> [UInt8] {
        [UInt8](repeating: 0, count: 2 * Self.block)
    }

    private static func padded(_ count: Int) -> Int { (count + block - 1) / block * block }

    /// What ustar can't express, as pax records; empty when it can express everything.
    private func paxRecords(of member: ArchiveMember) -> [UInt8] {
        var records: [UInt8] = []
        if Self.split(member.archiveName) == nil { records += Self.record("path", member.archiveName) }
        if member.size > Self.largestOctal { records += Self.record("size", Array(String(member.size).utf8)) }
        if member.modified < 0 || member.modified > Self.largestOctal {
            records += Self.record("mtime", Array(String(member.modified).utf8))
        }
        return records
    }

    /// `27 path=…\n`, where the number includes its own length.
    private static func record(_ key: StaticString, _ value: [UInt8]) -> [UInt8] {
        let rest = key.utf8CodeUnitCount + value.count + 3
        var length = rest + 1
        while String(length).utf8.count + rest != length { length = String(length).utf8.count + rest }
        var writer = TextWriter(capacity: length)
        writer.integer(Int64(length))
        writer.raw(" ")
        writer.raw(key)
        writer.raw("=")
        writer.raw(value)
        writer.raw("\n")
        return writer.take()
    }

    /// A name split into ustar's two fields; nil when it does not fit.
    private static func split(_ name: [UInt8]) -> (prefix: ArraySlice<UInt8>, name: ArraySlice<UInt8>)? {
        if name.count <= 100 { return ([], name[...]) }
        guard name.count <= 256 else { return nil }
        // The slash between the two fields is not written; a folder's own trailing slash is not a place to split.
        for place in max(1, name.count - 101)..<min(156, name.count - 1) where name[place] == UInt8(ascii: "/") {
            return (name[..<place], name[(place + 1)...])
        }
        return nil
    }

    private func ustar(_ member: ArchiveMember) -> [UInt8] {
        let name = member.archiveName
        let fields = Self.split(name) ?? ([], name.suffix(100))
        return block(
            name: Array(fields.name), prefix: Array(fields.prefix), size: min(member.size, Self.largestOctal),
            modified: min(max(member.modified, 0), Self.largestOctal),
            type: member.isDirectory ? UInt8(ascii: "5") : UInt8(ascii: "0"), mode: member.isDirectory ? 0o755 : 0o644)
    }

    private func block(
        name: [UInt8], prefix: [UInt8], size: Int64, modified: Int64, type: UInt8, mode: Int64
    ) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.block)
        func put(_ bytes: some Collection<UInt8>, at offset: Int) {
            block.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
        }
        func octal(_ value: Int64, digits: Int, at offset: Int) {
            let text = String(value, radix: 8).utf8
            put([UInt8](repeating: 0x30, count: max(0, digits - text.count)) + text.suffix(digits), at: offset)
        }
        put(name.prefix(100), at: 0)
        octal(mode, digits: 7, at: 100)
        octal(0, digits: 7, at: 108)
        octal(0, digits: 7, at: 116)
        octal(size, digits: 11, at: 124)
        octal(max(0, modified), digits: 11, at: 136)
        put([UInt8](repeating: 0x20, count: 8), at: 148)
        block[156] = type
        put("ustar\u{0}00".utf8, at: 257)
        put(prefix.prefix(155), at: 345)
        let sum = block.reduce(Int64(0)) { $0 + Int64($1) }
        octal(sum, digits: 6, at: 148)
        block[154] = 0
        return block
    }
}
