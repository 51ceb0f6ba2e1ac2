import ArgumentParser
import DirectoryRoot
import WebUploader

extension UploaderConfiguration {
    /// The settings of the page; the rest keep their defaults.
    init(_ settings: Settings, startup: Startup) throws(StartError) {
        self.init()
        title = settings.text("title") ?? title
        header = settings.text("header") ?? header
        footer = settings.text("footer") ?? footer
        indexName = settings.text("index")
        if let indexName, !SharePath.isName(indexName.utf8) {
            throw .usage("index: '\(indexName)' is not a name such as index.html")
        }
        maxArchives = try settings.number("max-archives", in: 0...10_000) ?? maxArchives
        maxListings = try settings.number("max-listings", in: 1...10_000) ?? maxListings
        maxSearches = try settings.number("max-searches", in: 0...10_000) ?? maxSearches
        maxFormParts = try settings.number("max-form-parts", in: 1...1_000_000) ?? maxFormParts
        assetsDirectory = settings.text("assets")
        version = ServeCommand.documentation.version
        addresses = { startup.urls }
    }
}
