/// What the share knows about properties as a whole, so that resources without any are never looked at.
///
/// Setting an attribute changes a file's change time (`ctime`). The marker stores a time before which no property was
/// ever set through this share: a resource that last changed before it has none. Without a marker, no resource has any.
struct PropertyMarker: Equatable, Sendable {
    /// No resource with an earlier change time has properties.
    var since: Timestamp
    /// Whether some properties did not fit into extended attributes and are in the sidecar.
    var hasSidecar: Bool

    init(since: Timestamp, hasSidecar: Bool) {
        self.since = since
        self.hasSidecar = hasSidecar
    }

    init(payload: [UInt8]) throws(DamagedState) {
        guard let record = try StateRecord.all(in: payload).first, let since = record.time("since") else {
            throw DamagedState()
        }
        self.since = since
        hasSidecar = record.flag("sidecar")
    }

    var payload: [UInt8] {
        var record = StateRecord()
        record.set("since", since)
        record.set("sidecar", hasSidecar)
        var payload: [UInt8] = []
        record.write(to: &payload)
        return payload
    }

    /// The same, extended to cover a change at `time`: never narrower than before.
    func covering(_ time: Timestamp, sidecar: Bool) -> PropertyMarker {
        PropertyMarker(since: min(since, time), hasSidecar: hasSidecar || sidecar)
    }
}

/// A snapshot of the marker, for a listing: tells which members may have properties.
package struct PropertyHints: Sendable {
    let marker: PropertyMarker?

    /// False only when there are certainly none.
    package func mayHaveProperties(_ attributes: FileAttributes) -> Bool {
        guard let marker else { return false }
        return attributes.changed >= marker.since
    }
}
