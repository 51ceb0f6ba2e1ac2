internal import DirectoryRoot

/// A property that the server computes.
///
/// RFC 4918 §15, RFC 4331, and those that Nextcloud's clients ask for.
enum LiveProperty: UInt8, CaseIterable, Sendable {
    case creationdate
    case displayname
    case getcontentlength
    case getcontenttype
    case getetag
    case getlastmodified
    case resourcetype
    case supportedlock
    case lockdiscovery
    // Only when requested by name, or with `propname`:
    case quotaAvailableBytes
    case quotaUsedBytes
    case supportedReportSet
    case syncToken
    case ocIdentifier
    case ocFileIdentifier
    case ocPermissions
    case ocSize
    case ocChecksums

    /// The properties that `allprop` returns.
    ///
    /// RFC 4918 §9.1: those that the RFC defines.
    static let all: [LiveProperty] = [
        .creationdate, .displayname, .getcontentlength, .getcontenttype, .getetag, .getlastmodified, .resourcetype,
        .supportedlock, .lockdiscovery,
    ]

    static let ownCloud = "http://owncloud.org/ns"

    var name: PropertyName {
        switch self {
        case .quotaAvailableBytes: PropertyName(namespace: "DAV:", local: "quota-available-bytes")
        case .quotaUsedBytes: PropertyName(namespace: "DAV:", local: "quota-used-bytes")
        case .supportedReportSet: PropertyName(namespace: "DAV:", local: "supported-report-set")
        case .syncToken: PropertyName(namespace: "DAV:", local: "sync-token")
        case .ocIdentifier: PropertyName(namespace: Self.ownCloud, local: "id")
        case .ocFileIdentifier: PropertyName(namespace: Self.ownCloud, local: "fileid")
        case .ocPermissions: PropertyName(namespace: Self.ownCloud, local: "permissions")
        case .ocSize: PropertyName(namespace: Self.ownCloud, local: "size")
        case .ocChecksums: PropertyName(namespace: Self.ownCloud, local: "checksums")
        default: PropertyName(namespace: "DAV:", local: "\(self)")
        }
    }

    private static let byName: [PropertyName: LiveProperty] = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    /// The live property of this name; nil when there is none.
    init?(_ name: PropertyName) {
        guard let found = Self.byName[name] else { return nil }
        self = found
    }

    /// The element without content, as in `propname` and in a 404.
    var emptyElement: StaticString {
        switch self {
        case .creationdate: "<D:creationdate/>"
        case .displayname: "<D:displayname/>"
        case .getcontentlength: "<D:getcontentlength/>"
        case .getcontenttype: "<D:getcontenttype/>"
        case .getetag: "<D:getetag/>"
        case .getlastmodified: "<D:getlastmodified/>"
        case .resourcetype: "<D:resourcetype/>"
        case .supportedlock: "<D:supportedlock/>"
        case .lockdiscovery: "<D:lockdiscovery/>"
        case .quotaAvailableBytes: "<D:quota-available-bytes/>"
        case .quotaUsedBytes: "<D:quota-used-bytes/>"
        case .supportedReportSet: "<D:supported-report-set/>"
        case .syncToken: "<D:sync-token/>"
        case .ocIdentifier: "<oc:id xmlns:oc=\"http://owncloud.org/ns\"/>"
        case .ocFileIdentifier: "<oc:fileid xmlns:oc=\"http://owncloud.org/ns\"/>"
        case .ocPermissions: "<oc:permissions xmlns:oc=\"http://owncloud.org/ns\"/>"
        case .ocSize: "<oc:size xmlns:oc=\"http://owncloud.org/ns\"/>"
        case .ocChecksums: "<oc:checksums xmlns:oc=\"http://owncloud.org/ns\"/>"
        }
    }

    /// Whether a file or folder with these attributes has the property at all.
    func exists(for attributes: FileAttributes) -> Bool {
        switch self {
        case .getcontentlength, .getcontenttype, .getetag, .ocSize, .ocChecksums: !attributes.isDirectory
        case .supportedReportSet, .syncToken: attributes.isDirectory
        default: true
        }
    }
}
