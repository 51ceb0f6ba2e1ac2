internal import DirectoryRoot
internal import ServerCore

/// Elements that occur in several kinds of responses.
extension XMLWriter {
    /// Appends a `status` element.
    mutating func appendStatus(_ status: Status) {
        append("<D:status>HTTP/1.1 ")
        append(number: Int64(status.code))
        append(" ")
        append(bytes: status.reason.utf8)
        append("</D:status>")
    }

    /// Appends a `lockdiscovery` element.
    ///
    /// RFC 4918 §15.8.
    ///
    /// A lock need not show its owner (§14.1): after the first 64 KiB of owners the others are left out, since there
    /// may be hundreds of shared locks on one folder, and each member of it shows them all.
    mutating func appendLockDiscovery(_ locks: [ShownLock], prefix: [UInt8]) {
        var ownersLeft = 65_536
        append("<D:lockdiscovery>")
        for shown in locks {
            let lock = shown.lock
            append("<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope>")
            append(lock.isExclusive ? "<D:exclusive/>" : "<D:shared/>")
            append("</D:lockscope><D:depth>")
            append(lock.isRecursive ? "infinity" : "0")
            append("</D:depth>")
            if lock.owner.count <= ownersLeft {
                append(bytes: lock.owner)
                ownersLeft -= lock.owner.count
            }
            append("<D:timeout>Second-")
            append(number: max(0, lock.timeLeft.components.seconds))
            append("</D:timeout><D:locktoken><D:href>")
            appendText(Array(lock.token.uri.utf8))
            append("</D:href></D:locktoken><D:lockroot>")
            appendHref(shown.root, prefix: prefix)
            append("</D:lockroot></D:activelock>")
        }
        append("</D:lockdiscovery>")
    }
}
