import DirectoryRoot

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Changes state until it is killed; started by the tests.
///
///     StateDrill DIRECTORY locks|properties|race|upload|writes|limit [COUNT]
@main struct StateDrill {
    let share: Share
    let count: Int

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else { throw Misuse() }
        let drill = StateDrill(
            share: Share(root: try DirectoryRoot(path: arguments[1])),
            count: arguments.count > 3 ? Int(arguments[3]) ?? 0 : Int.max)
        switch arguments[2] {
        case "locks": try drill.locks()
        case "properties": try drill.properties()
        case "race": try drill.race()
        case "upload": try drill.upload()
        case "writes": try drill.writes()
        case "limit": try drill.limit()
        default: throw Misuse()
        }
    }

    struct Misuse: Error {}

    private func path(_ text: String) -> SharePath { SharePath(unchecked: Array(text.utf8)) }

    /// Takes and removes locks on seven files.
    private func locks() throws {
        for round in 0..<count {
            let request = LockRequest(
                isExclusive: false, isRecursive: false, owner: Array("<o>\(round)</o>".utf8), timeout: nil)
            let lock = try share.lock(path("file\(round % 7)"), request).lock
            if round % 3 != 0 { try share.unlock(lock.root, token: lock.token) }
            guard round % 50 == 49 else { continue }
            for old in try share.locks(covering: lock.root) { try share.unlock(lock.root, token: old.token) }
        }
    }

    /// Sets two properties to the same text, short and long in turn.
    private func properties() throws {
        for round in 0..<count {
            let text = String(repeating: "x", count: round % 3 == 0 ? 20_000 : 10)
            let changes = ["a", "b"].map { name in
                PropertyChange.set(
                    DeadProperty(
                        name: PropertyName(namespace: "urn:t", local: name), xml: Array("<p>\(round)\(text)</p>".utf8)))
            }
            try share.updateProperties(of: path("file0"), changes)
        }
    }

    /// Takes one exclusive lock `count` times; while it holds it, it must be the only one.
    private func race() throws {
        let request = LockRequest(isExclusive: true, isRecursive: false, owner: [], timeout: nil)
        var taken = 0
        while taken < count {
            guard let lock = try lockUnlessLocked(request) else { continue }
            guard try share.locks(covering: path("file0")).map(\.token) == [lock.token] else { throw Misuse() }
            try share.unlock(path("file0"), token: lock.token)
            taken += 1
        }
    }

    /// Uploads files of 3,000 bytes with increasing values, in pieces.
    private func upload() throws {
        let bytes = (0..<3_000).map { UInt8($0 % 251) }
        for round in 0..<count {
            let upload = try share.createUpload(UploadSpec(target: path("up\(round % 5)"), length: 3_000))
            for start in stride(from: 0, to: 3_000, by: 100) {
                try bytes[start..<start + 100].withUnsafeBytes { try upload.write($0) }
            }
            _ = try upload.finish(replacing: .anything)
        }
    }

    /// Replaces files, and whole trees of three files each, each time with another byte.
    private func writes() throws {
        for round in 0..<count {
            let content = [UInt8](repeating: UInt8(round % 251), count: 50_000)
            try put("file\(round % 5)", content)
            for name in ["w", "w/1", "w/2", "w/3"] {
                if name == "w" { try share.createDirectory(at: path(name)) } else { try put(name, content) }
            }
            _ = try share.move(path("w"), to: path("t"), replacing: .anything)
            _ = try share.copy(path("t"), to: path("u"), replacing: .anything)
            _ = try share.move(path("file\(round % 5)"), to: path("moved"), replacing: .anything)
            if round % 3 == 0 { _ = try share.remove(path("u")) }
        }
    }

    private func put(_ name: String, _ content: [UInt8]) throws {
        let upload = try share.beginUpload(to: path(name), replacing: .anything)
        try upload.write(content)
        _ = try upload.commit()
    }

    /// Writes beyond the process's file-size limit: must get an error, and survive.
    private func limit() throws {
        var limit = rlimit(rlim_cur: 256 << 10, rlim_max: 256 << 10)
        #if canImport(Glibc)
            guard setrlimit(__rlimit_resource_t(1), &limit) == 0 else { throw Misuse() }
        #else
            guard setrlimit(1, &limit) == 0 else { throw Misuse() }
        #endif
        do {
            try put("big", [UInt8](repeating: 1, count: 512 << 10))
        } catch RootError.tooLarge {
            return try put("small", [1, 2, 3])
        }
        throw Misuse()
    }

    private func lockUnlessLocked(_ request: LockRequest) throws -> ActiveLock? {
        do {
            return try share.lock(path("file0"), request).lock
        } catch RootError.locked {
            return nil
        }
    }
}
