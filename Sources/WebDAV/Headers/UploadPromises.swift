internal import DirectoryRoot
internal import ServerCore

/// What the fields of an upload announce about its content.
struct UploadPromises: Sendable {
    /// `X-OC-Mtime`.
    let modified: Timestamp?
    /// Finder's `X-Expected-Entity-Length` or ownCloud's `OC-Total-Length`, for bodies without a Content-Length.
    let length: Int64?
    let digests: UploadDigests
    private let isOwnCloud: Bool
    /// Whether the body is compressed, so that the received bytes are not those that are stored.
    private let isEncoded: Bool

    /// - Throws: 400 when a field can't be read.
    init(_ request: Request) throws(HTTPError) {
        let fields = request.fields
        let time = fields["x-oc-mtime"]
        modified = try time.flatMap(ModificationTime.ocMtime)?.time
        let expected = fields["x-expected-entity-length"] ?? fields["oc-total-length"]
        let isProbe = expected != nil && fields["content-length"]?.trimmingBlanks == "0"
        length = isProbe ? nil : expected.flatMap { Int64($0.trimmingBlanks) }.flatMap { $0 >= 0 ? $0 : nil }
        let checksum = fields["oc-checksum"]
        digests = try UploadDigests(
            reprDigest: fields["repr-digest"], contentDigest: fields["content-digest"], ocChecksum: checksum,
            wanted: fields["want-repr-digest"], isEncoded: request.body.isEncoded)
        isEncoded = request.body.isEncoded
        isOwnCloud = time != nil || checksum != nil || fields["oc-total-length"] != nil
    }

    /// - Throws: 400 when fewer bytes were received than announced.
    func check(written: Int64) throws(HTTPError) {
        if let length, written < length {
            throw HTTPError(.badRequest, "Fewer bytes came than were announced. Send the file again.")
        }
    }

    /// The fields of the response to an upload: validators only if what is stored is byte for byte what the client
    /// sent.
    ///
    /// RFC 9110 §9.3.4.
    func fields(after attributes: FileAttributes, _ digests: UploadDigests) -> ResponseFields {
        var fields = ResponseFields()
        if !isEncoded {
            fields["ETag"] = attributes.entityTag.text
            fields["Last-Modified"] = HTTPDate.text(attributes.modified.seconds)
        }
        if let digest = digests.answer { fields.add("Repr-Digest", digest.text) }
        if modified != nil { fields.add("X-OC-MTime", "accepted") }
        if isOwnCloud {
            if !isEncoded { fields.add("OC-ETag", attributes.entityTag.text) }
            fields.add("OC-FileId", "\(attributes.inode)")
        }
        return fields
    }
}
