import DirectoryRoot
import FoundationEssentials
import Glibc

@testable import ServerCore
@testable import WebDAV
@testable import WebUploader

/// The fuzzed code: everything that parses bytes from a stranger.
///
/// A thrown error is correct; a trap, a hang, or unbounded memory is a finding.
enum FuzzTarget: String, CaseIterable {
    case head, chunks, target, fields, range, credentials, multipart, gzip, tus, rules
    case ifHeader = "if"
    case davHeaders = "dav-headers"
    case destination
    case propfind, proppatch, lock
    case json, config

    /// Names the target for the processes that libFuzzer starts.
    static let variable = "SHARESERVE_FUZZ_TARGET"
    /// The target in the environment.
    static var given: FuzzTarget? { getenv(variable).flatMap { FuzzTarget(rawValue: String(cString: $0)) } }
    /// The target on the command line.
    static let chosen = given ?? .head

    /// Reads one input.
    func run(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        switch self {
        case .head: readHeads(bytes)
        case .chunks: readChunks(bytes)
        case .target: readTarget(bytes)
        case .fields: readFields(text, bytes)
        case .range: readRange(text)
        case .credentials: _ = Credentials(field: text)
        case .multipart: readForm(bytes)
        case .gzip: inflate(bytes)
        case .tus: readUploadFields(text)
        case .rules: readRules(text)
        case .ifHeader: _ = try? IfHeader(header: text)
        case .davHeaders: readDAVHeaders(text)
        case .destination: _ = try? RequestTarget(bytes[...])
        case .propfind: _ = try? PropertySelection(propfind: bytes, charset: nil)
        case .proppatch: readPropertyUpdate(bytes)
        case .lock: readLock(bytes)
        case .json: _ = try? JSONDecoder().decode(NamedPlaces.self, from: Data(bytes))
        case .config: SettingsInput(bytes).read()
        }
    }

    /// The same bytes in one packet and one by one: the packets must make no difference.
    private func readHeads(_ bytes: [UInt8]) {
        let whole = outcome(bytes, step: max(bytes.count, 1))
        precondition(whole == outcome(bytes, step: 1), "packet boundaries change what a head means")
    }

    private func outcome(_ bytes: [UInt8], step: Int) -> [String] {
        var parser = HTTP1HeadParser()
        var seen: [String] = []
        var start = 0
        var end = 0
        var head = RequestHead()
        while true {
            do {
                let length = try bytes.withUnsafeBytes { buffer in
                    try parser.parse(UnsafeRawBufferPointer(rebasing: buffer[start..<end]), into: head)
                }
                if let length {
                    seen.append("\(length)")
                    start += length
                    head = RequestHead()
                    parser = HTTP1HeadParser()
                    if seen.count > 20 { return seen }
                    continue
                }
            } catch {
                // Which of two errors is found first may depend on the packets.
                seen.append(error is HTTPError ? "refused" : "another error")
                return seen
            }
            guard end < bytes.count else { return seen }
            end = min(end + step, bytes.count)
        }
    }

    private func readChunks(_ bytes: [UInt8]) {
        var decoder = HTTP1ChunkDecoder()
        bytes.withUnsafeBytes { buffer in
            var index = 0
            while let span = try? decoder.next(buffer, from: &index) {
                precondition(span.upperBound <= buffer.count, "data past the end")
            }
        }
    }

    private func readTarget(_ bytes: [UInt8]) {
        guard let target = try? RequestTarget(bytes[...]) else { return }
        _ = try? RequestTarget.decode(path: target.path, below: "/files")
        guard let path = try? RequestTarget.decode(path: target.path, below: "").path else { return }
        for component in path.components {
            precondition(!component.isEmpty && !component.contains(0x2F) && !component.contains(0), "not a name")
            precondition(!component.elementsEqual([0x2E]) && !component.elementsEqual([0x2E, 0x2E]), "a way out")
        }
    }

    private func readFields(_ text: String, _ bytes: [UInt8]) {
        _ = EntityTagList(field: text).matchesWeakly("\"a\"")
        _ = HeaderParameters(bytes).extended("filename")
        _ = HTTPDate.parse(text)
        _ = Negotiation.mediaType(accept: text, offered: ["text/html", "application/json"])
        _ = Negotiation.language(acceptLanguage: text, offered: ["en", "de", "zh-Hans"])
        _ = Negotiation.coding(acceptEncoding: text)
        _ = ContentDisposition.attachment(filename: bytes)
        _ = try? ReprDigest(field: text)
        _ = ReprDigest.wanted(field: text)
        _ = Base64.decode(bytes)
        _ = PercentCoding.decodeForm(bytes[...])
        _ = NetworkAddress(text)
        _ = LinkToken(bytes)
    }

    private func readRange(_ text: String) {
        for size: Int64 in [0, 1, 1_000, .max] {
            _ = RangeSelection(field: text, size: size)
        }
    }

    private func readForm(_ bytes: [UInt8]) {
        guard var parser = try? MultipartParser(contentType: "multipart/form-data; boundary=x") else { return }
        var rest = bytes[...]
        let step = max(1, Int(bytes.first ?? 1))
        while !rest.isEmpty {
            guard (try? parser.feed(Array(rest.prefix(step)))) != nil else { return }
            rest = rest.dropFirst(step)
        }
        _ = try? parser.finish()
    }

    private func inflate(_ bytes: [UInt8]) {
        guard let inflater = try? Inflater(maxRatio: 128, maxBytes: 1 << 20) else { return }
        inflater.feed(bytes)
        while let piece = try? inflater.piece(), !piece.isEmpty {}
        _ = try? inflater.finish()
    }

    private func readUploadFields(_ text: String) {
        if let metadata = try? UploadMetadata(field: text) {
            _ = try? metadata.target { _ in false }
            _ = try? metadata.modified()
            _ = try? metadata.expectedDigest()
        }
        _ = try? ChunkChecksum(field: text)
        _ = StructuredField.boolean(text)
        _ = StructuredField.integer(text)
    }

    private func readRules(_ text: String) {
        // Hashes of crypt(3) are slow by design; only the grammar is fuzzed.
        guard !text.contains("$") else { return }
        var rules = AccessRules()
        _ = try? rules.add(rule: text)
        _ = try? rules.add(file: text)
    }

    private func readDAVHeaders(_ text: String) {
        _ = try? Depth(header: text)
        _ = try? LockTokenHeader(header: text)
        _ = try? ModificationTime.ocMtime(text)
        _ = try? Overwrite(header: text)
        _ = OwnCloudChecksum(text)
        _ = Prefer(header: text)
        _ = SyncToken(text)
        _ = Timeout(header: text)
        _ = try? UpdateRange(updateRange: text)
        _ = try? UpdateRange(contentRange: text)
        _ = WindowsTime.parse(text)
    }

    /// What is stored as a dead property must parse again as the same element, since every later listing holds it.
    private func readPropertyUpdate(_ bytes: [UInt8]) {
        _ = try? XMLReader.read(bytes, charset: "utf-16")
        let now = Timestamp(seconds: 0)
        let target = FileAttributes(
            kind: .file, size: 0, modified: now, created: nil, accessed: now, changed: now, inode: 1, device: 1)
        guard let root = try? XMLReader.read(bytes), let update = try? PropertyUpdate(root, of: target) else { return }
        for case .set(let property) in update.changes {
            precondition(
                (try? XMLReader.read(property.xml))?.name == property.name, "a property that is not itself again")
        }
        for name in update.names {
            let listed =
                Array("<D:p xmlns:D=\"DAV:\">".utf8) + PropertySelection.emptyElement(name) + Array("</D:p>".utf8)
            precondition((try? XMLReader.read(listed))?.elements.first?.name == name, "a name that is not itself again")
        }
    }

    private func readLock(_ bytes: [UInt8]) {
        guard let root = try? XMLReader.read(bytes), let info = try? LockInfo(root), !info.owner.isEmpty else { return }
        precondition((try? XMLReader.read(info.owner))?.isDAV("owner") == true, "an owner that is not itself again")
    }
}
