// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// For the modules that touch C: each use of what the compiler cannot check is marked.
let strictMemory: [SwiftSetting] = strict + [.strictMemorySafety()]

let strictC: [CSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "shareserve",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "shareserve", targets: ["shareserve"]),
        .library(name: "DirectoryRoot", targets: ["DirectoryRoot"]),
        .library(name: "ServerCore", targets: ["ServerCore"]),
        .library(name: "WebUploader", targets: ["WebUploader"]),
        .library(name: "WebDAV", targets: ["WebDAV"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        .systemLibrary(
            name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(
            name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"]), .brew(["libxml2"])]),
        .systemLibrary(
            name: "CCrypt", pkgConfig: "libxcrypt", providers: [.apt(["libcrypt-dev"]), .brew(["libxcrypt"])]),
        .target(name: "CSyscalls", cSettings: strictC),
        .target(name: "CBundledAssets", cSettings: strictC),
        .target(name: "CChecksums", cSettings: strictC),
        .target(
            name: "DirectoryRoot",
            dependencies: ["CSyscalls"],
            swiftSettings: strictMemory),
        .target(
            name: "ServerCore",
            dependencies: [
                "CChecksums", "CCrypt", "CSyscalls", "CZlib", "DirectoryRoot",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: strictMemory),
        .target(
            name: "WebUploader",
            dependencies: [
                "CBundledAssets", "CChecksums", "DirectoryRoot", "ServerCore",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strictMemory),
        .target(
            name: "WebDAV",
            dependencies: ["CLibXML2", "DirectoryRoot", "ServerCore"],
            swiftSettings: strictMemory),
        .executableTarget(
            name: "shareserve",
            dependencies: [
                "CSyscalls", "DirectoryRoot", "ServerCore", "WebDAV", "WebUploader",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strictMemory),
        .target(name: "TestSupport", dependencies: ["DirectoryRoot"], path: "Tests/TestSupport", swiftSettings: strict),
        .executableTarget(
            name: "StateDrill", dependencies: ["DirectoryRoot"], path: "Tests/StateDrill", swiftSettings: strict),
        .testTarget(
            name: "DirectoryRootTests", dependencies: ["DirectoryRoot", "CSyscalls", "StateDrill", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ServerCoreTests",
            dependencies: [
                "ServerCore", "DirectoryRoot", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "WebUploaderTests",
            dependencies: ["WebUploader", "ServerCore", "DirectoryRoot", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "WebDAVTests",
            dependencies: ["WebDAV", "ServerCore", "DirectoryRoot", "CSyscalls", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "EmbeddingTests",
            dependencies: ["DirectoryRoot", "ServerCore", "WebUploader", "WebDAV", "TestSupport"],
            packageAccess: false, swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c2x
)

// `make fuzz` only: its driver needs libFuzzer, which an ordinary build does not link, and reads settings with the
// program's own reader, so the program becomes a library there.
if Context.environment["SHARESERVE_FUZZ"] != nil {
    let program = package.targets.filter { $0.name == "shareserve" }
    package.targets.removeAll { $0.name == "shareserve" }
    package.products.removeAll { $0.name == "shareserve" }
    package.targets += [
        .target(
            name: "shareserve", dependencies: program.flatMap(\.dependencies), exclude: ["main.swift"],
            swiftSettings: strictMemory),
        .target(name: "CLibFuzzer", path: "Tests/Fuzz/CLibFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: ["CLibFuzzer", "DirectoryRoot", "ServerCore", "WebDAV", "WebUploader", "shareserve"],
            path: "Tests/Fuzz/Driver"),
    ]
}
