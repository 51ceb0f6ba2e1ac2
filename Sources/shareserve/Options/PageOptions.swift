import ArgumentParser

/// Options for what the page shows and offers.
enum PageOptions: SettingsSection {
    static let settings: [Setting] = [
        .text("title", as: "text", "The page's title."),
        .text("header", as: "text", "A line above the listing."),
        .text("footer", as: "text", "A line below the listing."),
        .text("index", as: "name", "A file such as index.html that is shown in place of its folder."),
        .flag("qr", "Print the address as a QR code too, for a phone's camera."),
        .text("assets", as: "directory", completion: .directory, "Files that replace those of the page, by name."),
        .text("trash", as: "days", "Keep what is deleted or replaced for so many days, to be restored from the page."),
        .text("upload-expiry", as: "time", "Keep interrupted uploads for this long; default: 24h."),
    ]
}
