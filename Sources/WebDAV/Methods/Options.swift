internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Reports the methods allowed here, and that this is WebDAV; for every address, whether or not anything is there.
    ///
    /// RFC 4918 §10.1, RFC 9110 §9.3.7.
    func options() async throws -> Response {
        options(of: try await onDisk { _ in try? existing(path) })
    }

    /// The same if no disk has to be waited for: on the event loop, since many clients send this first.
    /// - Returns: nil if one has to be waited for.
    func optionsAtOnce() -> Response? {
        do {
            return options(of: try share.attributesAtOnce(of: path))
        } catch .notFound {
            return options(of: nil)
        } catch {
            return nil
        }
    }

    private func options(of target: FileAttributes?) -> Response {
        let isReadOnly = share.root.policy.isReadOnly
        // “*” means the server, not a resource.
        let isServer = request.fields.head.target.elementsEqual("*".utf8)
        var allowed =
            isServer ? Self.everything : Self.allowed(for: target, isRoot: path.isRoot, isReadOnly: isReadOnly)
        if target?.isDirectory == true, !isReadOnly {
            // Clients ask the folder that they mount whether they can create anything in it.
            allowed += ", PUT, MKCOL"
        }
        var fields: ResponseFields = [
            "DAV": DAVClasses.field(isReadOnly: isReadOnly),
            "MS-Author-Via": "DAV",
            "Accept-Ranges": "bytes",
            "Allow": allowed,
        ]
        if !isReadOnly {
            let isFile = target.map { !$0.isDirectory } ?? false
            fields.add("Accept-Patch", isFile || isServer ? Self.acceptedPatches : Self.partialUpload)
            // Never empty: without any limit, the draft asks for one that always holds.
            fields.add("Upload-Limit", share.root.policy.maxUploadSize.map { "max-size=\($0)" } ?? "min-size=0")
        }
        return Response(.ok, fields: fields)
    }

    private static let everything =
        "OPTIONS, GET, HEAD, POST, PUT, PATCH, DELETE, PROPFIND, PROPPATCH, MKCOL, COPY, MOVE, LOCK, UNLOCK, REPORT"

    /// The methods that apply to `target`, as the value of `Allow`.
    static func allowed(for target: FileAttributes?, isRoot: Bool, isReadOnly: Bool) -> String {
        guard let target else { return isReadOnly ? "OPTIONS" : "OPTIONS, PUT, MKCOL, LOCK" }
        var methods = ["OPTIONS", "GET", "HEAD", "PROPFIND"]
        guard !isReadOnly else { return methods.joined(separator: ", ") }
        if target.isDirectory { methods.append("REPORT") }
        methods += target.isDirectory ? ["POST", "PROPPATCH", "COPY"] : ["PUT", "PATCH", "PROPPATCH", "COPY"]
        if !isRoot { methods += ["MOVE", "DELETE"] }
        methods += ["LOCK", "UNLOCK"]
        return methods.joined(separator: ", ")
    }

    /// A 405 with the methods that are allowed.
    func notAllowed(_ message: String, for target: FileAttributes?) -> HTTPError {
        HTTPError(
            .methodNotAllowed, message,
            fields: [
                "Allow": Self.allowed(for: target, isRoot: path.isRoot, isReadOnly: share.root.policy.isReadOnly)
            ])
    }
}
