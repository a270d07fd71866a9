// swift-tools-version: 6.2
import PackageDescription

/// Every target is built in Swift 6 mode and spells out what its interface imports.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let nio = "swift-nio"

let package = Package(
    name: "functions-host",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "FunctionsRuntime", targets: ["FunctionsRuntime"]),
        .library(name: "FunctionsTesting", targets: ["FunctionsTesting"]),
        .library(name: "FunctionsServing", targets: ["FunctionsServing"]),
        .executable(name: "functions-host", targets: ["functions-host"]),
        .executable(name: "ShopFunctions", targets: ["ShopFunctions"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .target(name: "CFunctionsSystem"),
        .target(name: "DocumentModel", swiftSettings: settings),
        .target(
            name: "WorkerProtocol",
            dependencies: ["DocumentModel", .product(name: "NIOCore", package: nio)],
            swiftSettings: settings
        ),
        .target(
            name: "FunctionsRuntime",
            dependencies: [
                "CFunctionsSystem", "DocumentModel", "WorkerProtocol",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "DocumentStore",
            dependencies: [
                "DocumentModel",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "EventDelivery",
            dependencies: [
                "DocumentModel", "WorkerProtocol", "DocumentStore", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "FunctionsHost",
            dependencies: [
                "CFunctionsSystem", "DocumentModel", "WorkerProtocol", "DocumentStore", "EventDelivery",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FunctionsTesting",
            dependencies: [
                "DocumentModel", "DocumentStore", "EventDelivery", "FunctionsRuntime", "WorkerProtocol",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FunctionsServing",
            dependencies: [
                "FunctionsHost", "FunctionsRuntime", "WorkerProtocol",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "functions-host",
            dependencies: [
                "DocumentModel", "DocumentStore", "FunctionsHost",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "ShopFunctions", dependencies: ["FunctionsRuntime"], swiftSettings: settings),
        .executableTarget(
            name: "FixtureFunctions",
            dependencies: ["FunctionsRuntime", "WorkerProtocol", .product(name: "NIOCore", package: nio)],
            path: "Tests/FixtureFunctions",
            swiftSettings: settings),
        .executableTarget(
            name: "AloneFunctions", dependencies: ["FunctionsRuntime", "FunctionsServing"],
            path: "Tests/AloneFunctions", swiftSettings: settings),
        // What tests share: random numbers, a plain model of the store, and scripts to run.
        .target(
            name: "TestSupport", dependencies: ["DocumentModel"], path: "Tests/TestSupport", swiftSettings: settings),
        .executableTarget(
            name: "StoreTorture", dependencies: ["DocumentModel", "DocumentStore", "TestSupport"],
            path: "Tests/StoreTorture", swiftSettings: settings),
        // Of use in a release build only: `make bench`.
        .executableTarget(
            name: "functions-bench",
            dependencies: [
                "DocumentModel", "DocumentStore", "FunctionsHost", "WorkerProtocol",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/functions-bench",
            swiftSettings: settings),
        .testTarget(name: "DocumentModelTests", dependencies: ["DocumentModel"], swiftSettings: settings),
        .testTarget(
            name: "WorkerProtocolTests",
            dependencies: ["DocumentModel", "WorkerProtocol", .product(name: "NIOCore", package: nio)],
            swiftSettings: settings),
        .testTarget(
            name: "DocumentStoreTests",
            dependencies: ["DocumentStore", "DocumentModel", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
        .testTarget(
            name: "StoreTortureTests",
            dependencies: ["StoreTorture", "DocumentStore", "DocumentModel", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "FunctionsRuntimeTests",
            dependencies: [
                "FunctionsRuntime", "DocumentModel", "WorkerProtocol",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionsTestingTests", dependencies: ["FunctionsTesting", "FunctionsRuntime"],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionsHostTests",
            dependencies: [
                "FunctionsHost", "EventDelivery", "DocumentStore", "DocumentModel", "WorkerProtocol", "TestSupport",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOEmbedded", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ShopFunctionsTests", dependencies: ["ShopFunctions", "FunctionsRuntime", "FunctionsTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "functions-host", "ShopFunctions", "FixtureFunctions", "AloneFunctions", "TestSupport", "DocumentModel",
                "DocumentStore", "FunctionsHost", "FunctionsRuntime",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOHTTP1", package: nio),
            ],
            swiftSettings: settings),
    ]
)
