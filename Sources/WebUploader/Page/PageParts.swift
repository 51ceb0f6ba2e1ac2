import Synchronization

/// The page's files and what is made of them, when somebody first asks for the page: a server that starts, and one that
/// only programs talk to, need none of it.
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

    /// Reads a directory of replacements now, so that its faults show at the start.
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
