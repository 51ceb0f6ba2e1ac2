import DirectoryRoot
import ServerCore
import WebDAV
import WebUploader

struct Hello: Handler {
    let methods: [Method] = [.get]

    func answer(_ request: Request) -> Answer {
        guard request.path.description == "/hello" else { return .pass }
        return .now(.text(.ok, "Hello \(request.share.user ?? "stranger")"))
    }
}

func makeServer(of folder: String, port: Int) throws -> Server {
    var configuration = ServerConfiguration(root: try DirectoryRoot(path: folder))
    configuration.addresses = [.internet(host: "127.0.0.1", port: port)]
    try configuration.access.addUser("anna", password: "secret")
    var page = UploaderConfiguration()
    page.title = "My files"
    page.hasUsers = true
    let server = Server(configuration: configuration)
    server.add(WebDAVHandler())
    server.add(try UploaderHandler(page))
    server.add(Hello())
    return server
}
