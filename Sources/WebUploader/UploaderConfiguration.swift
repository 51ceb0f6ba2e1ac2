internal import ServerCore

/// What the browser's side of a server is told; every member has the default that the command line shows.
public struct UploaderConfiguration: Sendable {
    /// Stands in the page's title and head.
    public var title = "shareserve"
    /// A line above the listing; empty for none.
    public var header = ""
    /// A line below the listing; empty for none.
    public var footer = ""
    /// A file name, such as `index.html`, that is served in place of a folder's page where a folder has it.
    public var indexName: String?
    /// A directory whose files replace those of the page, by name.
    public var assetsDirectory: String?
    /// What `--version` says.
    public var version = ""
    /// Whether there are users at all, so that the page offers to log in.
    public var hasUsers = false
    /// Whether people may make share links from the page.
    public var allowsLinks = true
    /// Event streams at once; more are refused with 503.
    public var maxEventStreams = 256
    /// Searches at once; more are refused with 503.
    public var maxSearches = 16
    /// Listings of folders being sent at once; more are refused with 503.
    public var maxListings = UsableMemory.places(256, each: 1 << 18)
    /// Archives being sent at once; more are refused with 503.
    public var maxArchives = UsableMemory.places(64, each: 1 << 20)
    /// Files and fields of one form; 413 beyond it.
    public var maxFormParts = 20_000
    /// The addresses under which others reach this server, for the page's QR code; asked at each request.
    public var addresses: @Sendable () -> [String] = { [] }

    /// The defaults.
    public init() {}
}
