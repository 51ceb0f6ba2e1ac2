import ArgumentParser
import WebUploader

extension UploaderConfiguration {
    /// What the settings say about the page; the rest keeps its defaults.
    init(_ settings: Settings, startup: Startup) throws(StartError) {
        self.init()
        title = settings.text("title") ?? title
        header = settings.text("header") ?? header
        footer = settings.text("footer") ?? footer
        indexName = settings.text("index")
        assetsDirectory = settings.text("assets")
        trashDays = try settings.number("trash", in: 0...36_500) ?? trashDays
        uploadExpiry = try settings.duration("upload-expiry") ?? uploadExpiry
        version = ServeCommand.configuration.version
        addresses = { startup.urls }
    }
}
