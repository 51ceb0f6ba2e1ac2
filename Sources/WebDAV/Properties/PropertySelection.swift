internal import DirectoryRoot
internal import ServerCore

/// The properties that a PROPFIND or REPORT asks for, separated into computed and stored ones.
struct PropertySelection: Sendable {
    enum Form: Sendable {
        /// `allprop`: the RFC's own, every dead property, and those named in `include`.
        case all
        /// `propname`: names without values.
        case names
        case named
    }

    let form: Form
    /// In the order of the request, each once.
    private(set) var live: [LiveProperty] = []
    /// Those requested by name that the server does not compute.
    private(set) var dead: [PropertyName] = []
    /// The same as empty elements, ready to be written into a 404.
    private(set) var emptyElements: [[UInt8]] = []

    /// Whether the share is read-only, and therefore has neither locks nor reports.
    var isReadOnly = false

    static let all = PropertySelection(form: .all, named: [])

    /// The most names: each costs time again with every member.
    private static let maxNames = 512
    private static let maxNameBytes = 32_768

    init(form: Form, named names: [PropertyName]) {
        self.form = form
        live =
            switch form {
            case .all: LiveProperty.all
            case .names: LiveProperty.allCases
            case .named: []
            }
        var seen: Set<PropertyName> = []
        for name in names where seen.insert(name).inserted {
            if let property = LiveProperty(name) {
                if !live.contains(property) { live.append(property) }
            } else {
                dead.append(name)
                emptyElements.append(Self.emptyElement(name))
            }
        }
    }

    /// Reads the body of a PROPFIND; an empty one means all properties.
    ///
    /// RFC 4918 §9.1.
    /// - Throws: 400 when it is not such a body.
    init(propfind body: [UInt8], charset: String?, maxDepth: Int = XMLBounds.maxDepth) throws {
        guard !body.isEmpty else {
            self = .all
            return
        }
        let root = try DAVBody.read(body, charset: charset, maxDepth: maxDepth)
        guard root.isDAV("propfind") else { throw DAVBody.notUnderstood }
        let forms = root.elements.filter { $0.isDAV("allprop") || $0.isDAV("propname") || $0.isDAV("prop") }
        guard let form = forms.first, forms.count == 1 else { throw DAVBody.notUnderstood }
        switch form.name.local {
        case "propname": self = PropertySelection(form: .names, named: [])
        case "allprop":
            let included = root.child("include")?.elements.map(\.name) ?? []
            try Self.check(included)
            self = PropertySelection(form: .all, named: included)
        default: try self.init(prop: form)
        }
    }

    /// Reads a `prop` element.
    /// - Throws: 400 when it has too many names.
    init(prop element: XMLElement) throws {
        let names = element.elements.map(\.name)
        try Self.check(names)
        self.init(form: .named, named: names)
    }

    private static func check(_ names: [PropertyName]) throws {
        let bytes = names.reduce(0) { $0 + $1.namespace.utf8.count + $1.local.utf8.count }
        guard names.count <= maxNames, bytes <= maxNameBytes else {
            throw HTTPError(.badRequest, "This asks for too many properties at once.")
        }
    }

    /// Whether the response depends on dead properties.
    var needsDead: Bool {
        form != .named || !dead.isEmpty || live.contains(.displayname)
    }

    /// Whether the free space has to be looked up.
    var needsSpace: Bool { live.contains(.quotaAvailableBytes) || live.contains(.quotaUsedBytes) }

    /// Whether the target's sync token has to be computed, for which its whole tree is walked before anything can be
    /// sent; the mere name of the property costs nothing.
    var needsSyncToken: Bool { form != .names && live.contains(.syncToken) }

    /// Whether the checksums that came with uploads are requested.
    var needsChecksums: Bool { live.contains(.ocChecksums) }

    /// Whether anything is requested that is stored with a resource.
    var needsKept: Bool { needsDead || needsChecksums }

    var needsLocks: Bool { live.contains(.lockdiscovery) }

    /// An element of any name, without content.
    static func emptyElement(_ name: PropertyName) -> [UInt8] {
        var writer = XMLWriter(capacity: 128)
        if name.namespace == "DAV:" {
            writer.append("<D:")
            writer.append(bytes: name.local.utf8)
        } else {
            // XML's own namespace can be bound to no prefix but its own.
            let isXML = name.namespace == "http://www.w3.org/XML/1998/namespace"
            writer.append(name.namespace.isEmpty ? "<" : isXML ? "<xml:" : "<x:")
            writer.append(bytes: name.local.utf8)
            if !name.namespace.isEmpty, !isXML {
                writer.append(" xmlns:x=\"")
                writer.appendAttribute(Array(name.namespace.utf8))
                writer.append("\"")
            }
        }
        writer.append("/>")
        return writer.take()
    }
}
