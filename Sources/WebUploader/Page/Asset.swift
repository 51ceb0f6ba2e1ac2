/// One file of the page, in memory for as long as the server runs.
struct Asset: Sendable {
    /// The name below the folder of the assets: `app.js`, `languages/de.json`.
    let name: String
    let mediaType: String
    let bytes: [UInt8]
    /// The gzip form; nil where it is not smaller.
    let compressed: [UInt8]?
}
