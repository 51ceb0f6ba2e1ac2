public import DirectoryRoot
public import Logging

/// The configuration of a server; every member but ``accessLog`` has the default that the command line shows.
public struct ServerConfiguration: Sendable {
    /// The directory that is shared.
    public var root: DirectoryRoot
    /// The prefix of all addresses: empty, or `/p` without a trailing slash, percent-encoded.
    public var pathPrefix = ""
    /// The addresses to listen at.
    ///
    /// By default all addresses of this machine, IPv6 and IPv4.
    public var addresses: [ListenAddress] = [.anyIPv6(port: 8080), .anyIPv4(port: 8080)]
    /// Who may do what, the server's names, and which proxies are trusted.
    public var access = AccessRules()
    /// The server's certificate; nil for no TLS.
    ///
    /// Unix-domain sockets never use TLS.
    public var tls: TLSSettings?
    /// The port at which clients without TLS are redirected to TLS, at the same hosts; nil for none.
    public var redirectPort: Int?
    /// The limits on sizes, numbers and times.
    public var limits = Limits()
    /// Threads for what may wait for a disk; 0 chooses by the number of processors.
    public var ioThreads = 0
    /// The number of event loops; 0 is one for every two processors.
    ///
    /// Fewer loops with more to do wake less often for the same work; the kernel's network code and the threads for the
    /// disk use the other half.
    public var eventLoops = 0
    /// The access log; nil, the default, for none.
    public var accessLog: AccessLog?
    /// The log for errors.
    public var logger = Logger(label: "shareserve")

    /// The defaults for a directory.
    public init(root: DirectoryRoot) { self.root = root }
}

/// An address at which a server can be reached.
public enum ListenAddress: Hashable, Sendable {
    /// A numeric IPv4 or IPv6 address (or a name that resolves to one) and a port; 0 takes a free one.
    case internet(host: String, port: Int)
    /// A Unix-domain socket by its path. A socket file on which nobody listens is replaced.
    case unix(path: String)

    /// Every IPv4 address of this machine.
    public static func anyIPv4(port: Int) -> ListenAddress { .internet(host: "0.0.0.0", port: port) }

    /// Every IPv6 address of this machine, and no IPv4 ones.
    public static func anyIPv6(port: Int) -> ListenAddress { .internet(host: "::", port: port) }

    /// The port of a network address; nil for a Unix-domain socket.
    package var port: Int? {
        if case .internet(_, let port) = self { return port }
        return nil
    }
}

/// Why a server can't listen.
public enum ListenError: Error, Equatable, Sendable {
    /// Another process listens on this port.
    case portInUse(host: String, port: Int)
    /// Another process listens on this socket.
    case socketInUse(path: String)
    /// Something that is not a socket has this name.
    case notASocket(path: String)
    /// Any other refusal, in words.
    case refused(address: String, reason: String)
}
