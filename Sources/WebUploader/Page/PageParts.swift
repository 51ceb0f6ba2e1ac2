import Synchronization

/// The page's files and what is made from them, when the page is first requested: neither a starting server nor one
/// that is used only by programs needs them.
final class PageParts: Sendable {
    struct Parts: Sendable {
        let assets: AssetStore
        let info: InfoDocument
        let page: PageWriter

        init(_ assets: AssetStore, _ configuration: UploaderConfiguration) {
            self.assets = assets
            info = InfoDocument(configuration: configuration, languages: assets.languages)
            page = PageWriter(assets: assets, info: info)
        }
    }

    private let configuration: UploaderConfiguration
    private let parts: Mutex<Parts?>

    /// Reads a directory of replacements now, so that errors in it show at the start.
    /// - Throws: ``RootError`` when that directory cannot be read.
    init(_ configuration: UploaderConfiguration) throws {
        self.configuration = configuration
        let replaced = try configuration.assetsDirectory.map { directory in
            Parts(try AssetStore(replacedBy: directory), configuration)
        }
        parts = Mutex(replaced)
    }

    var made: Parts {
        parts.withLock { parts in
            if let parts { return parts }
            let made = Parts(AssetStore(), configuration)
            parts = made
            return made
        }
    }
}
