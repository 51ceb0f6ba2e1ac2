import CSyscalls
import DirectoryRoot

extension Engine {
    /// Counts a response, if there was one, and writes the request's line in the access log.
    func record(
        _ head: RequestHead, peer: String, user: String?, version: String, status: Int, bytes: Int64, beganAt: Int64
    ) {
        if status != AccessRecord.abandoned { counters.answered(status) }
        guard let accessLog else { return }
        let isBrief = accessLog.format == .text
        let record = AccessRecord(
            peer: peer, user: user, method: head.bytes[head.methodRange], target: head.target, version: version,
            status: status, bytes: bytes, time: .now,
            milliseconds: max(0, sys_coarse_milliseconds() - beganAt),
            referer: isBrief ? nil : head.lines("referer").first,
            agent: isBrief ? nil : head.lines("user-agent").first)
        accessLog.writer.add(record, accessLog.format)
    }

    /// Records a GET that was answered immediately with a whole file, without the fields that only the longer log
    /// formats have.
    func recordGet(of target: [UInt8], peer: String, bytes: Int64) {
        counters.answered(200)
        guard let accessLog else { return }
        let record = AccessRecord(
            peer: peer, user: nil, method: Self.get, target: target[...], version: "HTTP/1.1", status: 200,
            bytes: bytes, time: .now, milliseconds: 0, referer: nil, agent: nil)
        accessLog.writer.add(record, accessLog.format)
    }

    private static let get = Array("GET".utf8)[...]
}
