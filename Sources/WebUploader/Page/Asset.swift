import ServerCore
import Synchronization

/// One file of the page, kept in memory while the server runs.
final class Asset: Sendable {
    /// The name below the folder of the assets: `app.js`, `languages/de.txt`.
    let name: String
    let mediaType: String
    let bytes: [UInt8]
    private let packed = Mutex<[UInt8]?>(nil)

    init(name: String, mediaType: String, bytes: [UInt8]) {
        self.name = name
        self.mediaType = mediaType
        self.bytes = bytes
    }

    /// The gzip form, made when first needed; nil if it is not smaller.
    var compressed: [UInt8]? {
        let form = packed.withLock { packed in
            if let packed { return packed }
            // Without memory for it, the plain bytes are used.
            let made = (try? Deflater(level: 9).finish(bytes)) ?? bytes
            packed = made.count < bytes.count ? made : []
            return packed ?? []
        }
        return form.isEmpty ? nil : form
    }
}
