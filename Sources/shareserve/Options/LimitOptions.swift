import ArgumentParser

/// Options for limits on sizes, counts and times.
enum LimitOptions: SettingsSection {
    static let settings: [Setting] = [
        .text(
            "max-open-files", as: "number",
            "Files and connections that the process may have open; default: what the system lets it have."),
        .text(
            "max-connections", as: "number",
            "Connections in all; default: 16384, with TLS 4096, or what open files and memory below 1 GiB allow."),
        .text(
            "max-connections-per-address", as: "number",
            "Connections from one address; default: three quarters of all, from 1024 in all on."),
        .text("max-requests", as: "number", "Requests being worked on at once; default: 8192."),
        .text(
            "max-streams", as: "number",
            "HTTP/2 streams of all connections at once; default: 4096, less below 1 GiB."),
        .text("max-head-size", as: "size", "Bytes of a request's head; default: 64K."),
        .text(
            "max-request-memory", as: "size",
            """
            Memory for heads, XML, JSON and small files that have come in part, of all requests together; default: 32M, \
            less below 1 GiB.
            """),
        .text(
            "max-answer-memory", as: "size",
            """
            Memory for listings and the like that clients are slow to take, of all connections together; default: 64M, \
            less below 1 GiB.
            """),
        .text("max-fields", as: "number", "Field lines of a request; default: 128."),
        .text("head-timeout", as: "time", "For a request's head to come; default: 20s."),
        .text("body-timeout", as: "time", "Without any byte of an upload; default: 30s."),
        .text("read-timeout", as: "time", "Without any byte taken of a download; default: 60s."),
        .text("idle-timeout", as: "time", "Between two requests of a connection; default: 75s."),
        .text("shutdown-timeout", as: "time", "For running transfers when the server is told to end; default: 30s."),
        .text("limit-rate", as: "size", "Bytes a second for each connection; default: no limit."),
        .text("limit-total-rate", as: "size", "Bytes a second for all connections together; default: no limit."),
        .text("max-ranges", as: "number", "Spans of a file in one answer; default: 64."),
        .text("max-form-parts", as: "number", "Files and fields of one form; default: 20000."),
        .text("max-archives", as: "number", "Archives being sent at once; default: 64, fewer below 1 GiB of memory."),
        .text("max-searches", as: "number", "Searches at once; default: 16."),
        .text(
            "max-tree-walks", as: "number",
            "Trees and large files being copied or deleted at once; others wait. Default: half of --io-threads."),
        .text(
            "max-listings", as: "number",
            "Folders being listed for browsers at once; default: 256, fewer below 1 GiB of memory."),
        .text("max-propfinds", as: "number", "WebDAV listings at once; default: 256, fewer below 1 GiB of memory."),
        .text("max-xml-size", as: "size", "Bytes of a WebDAV request's XML; default: 1M."),
        .text("max-xml-depth", as: "number", "Depth of a WebDAV request's XML; default: 256, which is the most."),
        .text("max-locks", as: "number", "WebDAV locks in all; default: 10000."),
        .text("max-locks-per-user", as: "number", "WebDAV locks of one user; default: 5000."),
        .text(
            "propfind-limit", as: "number",
            "Most members of a WebDAV listing of infinite depth, else 403; 0 refuses all; default: 10000."),
        .text("io-threads", as: "number", "Threads for the disk; default: four for each processor, from 8 to 32."),
        .text("event-loops", as: "number", "Event loops for the network; default: half the processors."),
    ]
}
