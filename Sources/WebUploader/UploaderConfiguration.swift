internal import ServerCore

/// The configuration of a server's browser interface; every member has the default that the command line shows.
public struct UploaderConfiguration: Sendable {
    /// Shown in the page's title and heading.
    public var title = "shareserve"
    /// A line above the listing; empty for none.
    public var header = ""
    /// A line below the listing; empty for none.
    public var footer = ""
    /// A file name, such as `index.html`, that is served instead of a folder's page in folders that contain it.
    public var indexName: String?
    /// A directory whose files replace those of the page, by name.
    public var assetsDirectory: String?
    /// The output of `--version`.
    public var version = ""
    /// Whether there are any users, so that the page offers to log in.
    public var hasUsers = false
    /// Whether share links may be created on the page.
    public var allowsLinks = true
    /// The most event streams at once; more are refused with 503.
    public var maxEventStreams = 256
    /// The most searches at once; more are refused with 503.
    public var maxSearches = 16
    /// The most folder listings sent at once; more are refused with 503.
    public var maxListings = UsableMemory.places(256, each: 1 << 18)
    /// The most archives sent at once; more are refused with 503.
    public var maxArchives = UsableMemory.places(64, each: 1 << 20)
    /// The most files and fields of one form; 413 beyond that.
    public var maxFormParts = 20_000
    /// The addresses at which others reach this server, for the page's QR code; called for each request.
    public var addresses: @Sendable () -> [String] = { [] }

    /// The defaults.
    public init() {}
}
