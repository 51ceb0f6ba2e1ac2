public import DirectoryRoot
public import Logging

/// Everything a server is told; every member has the default that the command line shows.
public struct ServerConfiguration: Sendable {
    /// The directory that is shared.
    public var root: DirectoryRoot
    /// Moves every address below it: empty, or `/p` without a last slash, percent-encoded.
    public var pathPrefix = ""
    /// Where to listen.
    ///
    /// By default every address of this machine, IPv6 and IPv4.
    public var addresses: [ListenAddress] = [.anyIPv6(port: 8080), .anyIPv4(port: 8080)]
    /// Who may do what, under which names the server is reached, and which proxies are believed.
    public var access = AccessRules()
    /// How the server proves who it is; nil for no TLS.
    ///
    /// Unix-domain sockets never have it.
    public var tls: TLSSettings?
    /// Where those who come without TLS are sent to the address with it, at the same hosts; nil for nowhere.
    public var redirectPort: Int?
    /// How much of everything is taken, and for how long.
    public var limits = Limits()
    /// Threads for what may wait for a disk; 0 chooses by the number of processors.
    public var ioThreads = 0
    /// Event loops; 0 is one for every two processors.
    ///
    /// Fewer loops with more to do each wake less often for the same work; the kernel's side of the network and the
    /// threads for the disk use the other half.
    public var eventLoops = 0
    /// One line for each request; nil for none.
    public var accessLog: AccessLog?
    /// Where faults are told.
    public var logger = Logger(label: "shareserve")

    /// The defaults for a directory.
    public init(root: DirectoryRoot) { self.root = root }
}

/// A place where a server can be reached.
public enum ListenAddress: Hashable, Sendable {
    /// A numeric IPv4 or IPv6 address (or a name that resolves to one) and a port; 0 takes a free one.
    case internet(host: String, port: Int)
    /// A Unix-domain socket by its path. A socket file that nobody listens on is replaced.
    case unix(path: String)

    /// Every IPv4 address of this machine.
    public static func anyIPv4(port: Int) -> ListenAddress { .internet(host: "0.0.0.0", port: port) }

    /// Every IPv6 address of this machine, and no IPv4 ones.
    public static func anyIPv6(port: Int) -> ListenAddress { .internet(host: "::", port: port) }

    /// Of an address in a network; nil of a Unix-domain socket.
    package var port: Int? {
        if case .internet(_, let port) = self { return port }
        return nil
    }
}

/// Why a server could not listen.
public enum ListenError: Error, Equatable, Sendable {
    /// Another process listens on this port.
    case portInUse(host: String, port: Int)
    /// Another process listens on this socket.
    case socketInUse(path: String)
    /// Something that is no socket has this name.
    case notASocket(path: String)
    /// Any other refusal, in words.
    case refused(address: String, reason: String)
}
