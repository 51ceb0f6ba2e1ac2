/// A link that opens one file or folder to anybody who has it.
///
/// The secret itself is never stored, only the hash that the link's maker passes.
public struct ShareLink: Equatable, Sendable {
    /// Identifies the link in lists and addresses; not secret.
    public var id: String
    /// A hash of the link's secret.
    public var secretHash: [UInt8]
    /// The file or folder, from the root.
    public var path: SharePath
    /// What the link's holder may do there.
    public var rights: Rights
    /// When it expires; nil for never.
    public var expires: Timestamp?
    /// The hash of an additional password, which this module does not interpret; nil when there is none.
    public var passwordHash: String?
    /// How many downloads are left; nil for any number.
    public var downloadsLeft: Int64?
    /// Who made it: a user's name, empty for a visitor without a name, nil for the link command on the server's
    /// machine.
    public var creator: String?
    /// When it was made.
    public var created: Timestamp

    /// Describes a new link.
    /// - Parameters:
    ///   - secretHash: a hash of its secret.
    ///   - path: the file or folder, from the root.
    ///   - rights: what its holder may do there.
    ///   - expires: when it expires; nil for never.
    ///   - passwordHash: the hash of an additional password; nil for none.
    ///   - downloadsLeft: how many downloads it allows; nil for any number.
    ///   - creator: who makes it.
    public init(
        secretHash: [UInt8], path: SharePath, rights: Rights = .readOnly, expires: Timestamp? = nil,
        passwordHash: String? = nil, downloadsLeft: Int64? = nil, creator: String? = nil
    ) {
        id = ""
        created = Timestamp(seconds: 0)
        self.secretHash = secretHash
        self.path = path
        self.rights = rights
        self.expires = expires
        self.passwordHash = passwordHash
        self.downloadsLeft = downloadsLeft
        self.creator = creator
    }
}

extension ShareLink {
    init(_ record: StateRecord) throws(DamagedState) {
        guard let id = record.text("id"), let secretHash = record["secret"], let path = record["path"],
            let rights = record.number("rights"), let created = record.time("created")
        else { throw DamagedState() }
        self.id = id
        self.secretHash = secretHash
        self.path = SharePath(unchecked: path)
        self.rights = Rights(rawValue: UInt8(truncatingIfNeeded: rights))
        self.created = created
        expires = record.time("expires")
        passwordHash = record.text("password")
        downloadsLeft = record.number("left")
        creator = record.text("creator")
    }

    var record: StateRecord {
        var record = StateRecord()
        record.set("id", id)
        record.set("secret", secretHash)
        record.set("path", path.bytes)
        record.set("rights", Int64(rights.rawValue))
        record.set("created", created)
        record.set("expires", expires)
        record.set("password", passwordHash)
        record.set("left", downloadsLeft)
        record.set("creator", creator)
        return record
    }

    func isOver(at now: Timestamp) -> Bool { expires.map { $0 <= now } ?? false }
}
