import DirectoryRoot
import ServerCore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is printed when the server listens: every address that reaches it, and whether anything protects it.
final class Startup: Sendable {
    private let configuration: ServerConfiguration
    private let root: String
    private let showsCode: Bool
    private let unknownVariables: [String]
    private let listening = Mutex<[ListenAddress]>([])

    /// - Parameters:
    ///   - configuration: of the server.
    ///   - root: the shared directory as it was given.
    ///   - showsCode: whether an address is also printed as a QR code.
    ///   - unknownVariables: environment variables that look like settings but are none.
    init(configuration: ServerConfiguration, root: String, showsCode: Bool, unknownVariables: [String]) {
        self.configuration = configuration
        self.root = root
        self.showsCode = showsCode
        self.unknownVariables = unknownVariables
    }

    /// Every URL of the server; empty before it listens.
    ///
    /// A wildcard address is replaced by the addresses of the interfaces, so that any of the lines can be typed in on
    /// another machine; IPv4 comes first, since it is shorter to type.
    var urls: [String] {
        var short: [String] = []
        var long: [String] = []
        for address in listening.withLock({ $0 }) {
            guard case .internet(let host, let port) = address else { continue }
            let hosts =
                switch host {
                case "0.0.0.0": ReachableAddresses.all().filter { !$0.contains(":") }
                case "::": ReachableAddresses.all().filter { $0.contains(":") }
                default: [host]
                }
            let scheme = configuration.tls == nil ? "http" : "https"
            for host in hosts {
                let url = "\(scheme)://\(ReachableAddresses.host(host)):\(port)\(configuration.pathPrefix)/"
                if host.contains(":") { long.append(url) } else { short.append(url) }
            }
        }
        return short + long
    }

    /// Prints the addresses on standard output.
    ///
    /// - Parameters:
    ///   - addresses: where the server listens.
    ///   - redirectPort: the port at which clients without TLS are redirected to these addresses; nil for none.
    ///   - fingerprint: of its certificate; nil without TLS.
    func announce(_ addresses: [ListenAddress], redirectPort: Int?, fingerprint: String?) {
        listening.withLock { $0 = addresses }
        var lines = ["Serving \(absoluteRoot)"]
        let urls = urls
        lines += urls.map { "  \($0)" }
        if urls.isEmpty, let port = addresses.lazy.compactMap(\.port).first {
            lines.append("  port \(port); this machine has no address at the moment")
        }
        for case .unix(let path) in addresses {
            lines.append("  unix:\(path)")
        }
        if let redirectPort { lines.append("Port \(redirectPort) sends those who come without TLS there.") }
        if let fingerprint { lines.append("SHA-256 of the certificate: \(fingerprint)") }
        if let warning { lines.append(warning) }
        if !unknownVariables.isEmpty {
            lines.append("Unknown settings in the environment, ignored: \(unknownVariables.joined(separator: ", "))")
        }
        if showsCode, let url = urlForPhones, let code = QRCode(url) { lines.append("\(url)\n\(code.terminal)") }
        StandardStreams.print(lines.joined(separator: "\n"), patience: .seconds(2))
    }

    /// The URL that a phone can most likely open: not a loopback one if possible, and short.
    private var urlForPhones: String? {
        let all = urls
        let far = all.filter { !$0.contains("//127.") && !$0.contains("//[::1]") && !$0.contains("//localhost") }
        return far.first ?? all.first
    }

    /// What a person should know about who has access.
    private var warning: String? {
        let access = configuration.access
        if access.isOn, !access.opensEverything {
            guard !isOnlyLocal, configuration.tls == nil else { return nil }
            return
                "Passwords and files cross the network unencrypted: use TLS, or a proxy that does, outside a trusted network."
        }
        let policy = configuration.root.policy
        guard !policy.isReadOnly else { return nil }
        let remedy = access.isOn ? "--read-only, or a rule other than “@/:rw”," : "--read-only or --auth"
        // If the disk refuses changes to the shared folder, which is logged, it may still allow them in subfolders.
        guard configuration.root.obstacle == nil else {
            return """
                Whoever reaches these addresses can read the files, and change what the disk lets this server change; \
                \(remedy) prevents that.
                """
        }
        let rights =
            switch (policy.refusesOverwrite, policy.refusesDelete) {
            case (false, false): "read, change and delete the files"
            case (false, true): "read and change the files"
            case (true, false): "read, add and delete files"
            case (true, true): "read the files and add others"
            }
        return "Whoever reaches these addresses can \(rights); \(remedy) prevents that."
    }

    /// Whether only this machine can reach the server.
    private var isOnlyLocal: Bool {
        listening.withLock { $0 }.allSatisfy { address in
            guard case .internet(let host, _) = address else { return true }
            return ReachableAddresses.isLoopback(host)
        }
    }

    private var absoluteRoot: String {
        URL(filePath: root).standardizedFileURL.path(percentEncoded: false)
    }
}
