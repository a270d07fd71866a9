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

// Debian's headers are where each compiler looks, and its configuration names the shared library.
#if os(Linux)
    let rocksDBConfiguration: String? = nil
#else
    let rocksDBConfiguration: String? = "rocksdb"
#endif
let withRocksDB = TargetDependencyCondition.when(traits: ["RocksDB"])

let package = Package(
    name: "functions-host",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "FunctionsRuntime", targets: ["FunctionsRuntime"]),
        .library(name: "FunctionsTesting", targets: ["FunctionsTesting"]),
        .library(name: "FunctionsServing", targets: ["FunctionsServing"]),
        .library(name: "FunctionsHTTPClient", targets: ["FunctionsHTTPClient"]),
        .library(name: "FunctionsMessaging", targets: ["FunctionsMessaging"]),
        .library(name: "FunctionsWebhooks", targets: ["FunctionsWebhooks"]),
        .executable(name: "functions-host", targets: ["functions-host"]),
        .executable(name: "ShopFunctions", targets: ["ShopFunctions"]),
        .executable(name: "ChatFunctions", targets: ["ChatFunctions"]),
    ],
    traits: [
        .trait(name: "RocksDB", description: "Lets stores be kept by RocksDB, which the host is linked with."),
        .default(enabledTraits: ["RocksDB"]),
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
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    ],
    // Below the authors' products each target depends on targets above it only.
    targets: [
        .target(name: "CFunctionsSystem"),
        // Only the host needs it: workers don't load the library.
        .target(
            name: "CPasswordHashing",
            linkerSettings: [
                .linkedLibrary("crypt", .when(platforms: [.linux])),
                // Statically: machines that only run the host needn't have it.
                .linkedLibrary(":libargon2.a", .when(platforms: [.linux])),
            ]),
        // Only the host needs it: workers don't load the library.
        .target(name: "CMailTransfer", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "TextFormats", swiftSettings: settings),
        .target(name: "StrictJSON", dependencies: ["CFunctionsSystem", "TextFormats"], swiftSettings: settings),
        .target(
            name: "DocumentModel", dependencies: ["CFunctionsSystem", "StrictJSON", "TextFormats"],
            swiftSettings: settings),
        .target(
            name: "RealtimeModel", dependencies: ["CFunctionsSystem", "StrictJSON", "TextFormats"],
            swiftSettings: settings),
        .target(name: "UserModel", dependencies: ["DocumentModel"], swiftSettings: settings),
        .target(name: "FunctionManifest", dependencies: ["StrictJSON", "DocumentModel"], swiftSettings: settings),
        .target(
            name: "WorkerProtocol",
            dependencies: ["DocumentModel", "UserModel", "FunctionManifest", .product(name: "NIOCore", package: nio)],
            swiftSettings: settings),
        .target(
            name: "FunctionsRuntime",
            dependencies: [
                "CFunctionsSystem", "StrictJSON", "TextFormats", "DocumentModel", "RealtimeModel", "UserModel",
                "FunctionManifest", "WorkerProtocol",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "Sharing",
            dependencies: ["CFunctionsSystem", .product(name: "DequeModule", package: "swift-collections")],
            swiftSettings: settings),
        // Apart from the model, so that workers don't load the cryptography.
        .target(
            name: "RealtimeHashing",
            dependencies: [
                "CFunctionsSystem", "StrictJSON", "TextFormats", "RealtimeModel",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(
            name: "SecurityRules",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(name: "StorageEngine", dependencies: ["CFunctionsSystem", "Sharing"], swiftSettings: settings),
        .target(name: "CSQLiteLog"),
        .target(
            name: "SQLiteStorage",
            dependencies: [
                "CSQLiteLog", "StorageEngine",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .systemLibrary(
            name: "CRocksDB", pkgConfig: rocksDBConfiguration,
            providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]),
        .target(
            name: "RocksDBStorage", dependencies: ["CRocksDB", "StorageEngine"], swiftSettings: settings,
            // Statically: machines that only run the host needn't have it.
            linkerSettings: [":librocksdb.a", ":liblz4.a", ":libzstd.a", ":libsnappy.a", ":libbz2.a", "z", "stdc++"]
                .map { .linkedLibrary($0, .when(platforms: [.linux])) }),
        .target(
            name: "EmbeddedStorage",
            dependencies: [
                "StorageEngine", "SQLiteStorage",
                .byName(name: "RocksDBStorage", condition: withRocksDB),
            ],
            swiftSettings: settings),
        .target(
            name: "CommitPipeline", dependencies: ["CFunctionsSystem", "DocumentModel", "Sharing", "StorageEngine"],
            swiftSettings: settings),
        .target(
            name: "DocumentStore",
            dependencies: [
                "CFunctionsSystem", "StrictJSON", "DocumentModel", "Sharing", "StorageEngine", "CommitPipeline",
            ],
            swiftSettings: settings),
        .target(
            name: "UserStore",
            dependencies: ["StrictJSON", "DocumentModel", "StorageEngine", "CommitPipeline"],
            swiftSettings: settings),
        .target(
            name: "RealtimeStore",
            dependencies: [
                "StrictJSON", "DocumentModel", "RealtimeModel", "RealtimeHashing", "Sharing", "StorageEngine",
                "CommitPipeline",
            ],
            swiftSettings: settings),
        .target(
            name: "EventDelivery",
            dependencies: [
                "DocumentModel", "FunctionManifest", "WorkerProtocol", "CommitPipeline", "DocumentStore",
                "RealtimeStore",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "DatabaseObservations", dependencies: ["DocumentModel", "WorkerProtocol", "Sharing"],
            swiftSettings: settings),
        .target(name: "DataDirectory", dependencies: ["CFunctionsSystem"], swiftSettings: settings),
        .target(
            name: "HostProcess",
            dependencies: [
                "CFunctionsSystem", "StrictJSON", "DocumentModel", "WorkerProtocol",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "TransportSecurity",
            dependencies: [
                "DataDirectory",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOTLS", package: nio),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "OutboundHTTP",
            dependencies: [
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            swiftSettings: settings),
        .target(
            name: "TokenVerification",
            dependencies: [
                "StrictJSON", "TextFormats", "Sharing", "DataDirectory", "OutboundHTTP",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "ServiceAccounts",
            dependencies: [
                "StrictJSON", "TextFormats", "DataDirectory", "TokenVerification",
                .product(name: "NIOCore", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(
            name: "MailTransfer", dependencies: ["CMailTransfer", "TextFormats", "Sharing"], swiftSettings: settings),
        .target(
            name: "IdentityProvider",
            dependencies: [
                "CPasswordHashing", "StrictJSON", "TextFormats", "DocumentModel", "UserModel", "Sharing",
                "CommitPipeline", "UserStore", "OutboundHTTP", "TokenVerification", "MailTransfer", "WorkerProtocol",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(
            name: "AppCheck",
            dependencies: [
                "StrictJSON", "UserStore", "TokenVerification", "IdentityProvider",
                .product(name: "NIOCore", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(
            name: "GoogleREST",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel",
                .product(name: "NIOCore", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .target(
            name: "FirestoreJSON",
            dependencies: ["CFunctionsSystem", "StrictJSON", "TextFormats", "DocumentModel", "GoogleREST"],
            swiftSettings: settings),
        .target(
            name: "FirestoreClient",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "FunctionManifest", "HostProcess", "OutboundHTTP",
                "Sharing", "TokenVerification", "GoogleREST", "FirestoreJSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(
            name: "IdentityToolkitClient",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "UserModel", "FunctionManifest", "Sharing",
                "HostProcess", "OutboundHTTP", "TokenVerification", "GoogleREST", "FirestoreClient",
            ],
            swiftSettings: settings),
        .target(
            name: "RealtimeDatabaseClient",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "RealtimeModel", "FunctionManifest", "WorkerProtocol",
                "Sharing", "DatabaseObservations", "HostProcess", "OutboundHTTP", "GoogleREST", "FirestoreClient",
            ],
            swiftSettings: settings),
        .target(
            name: "Workers",
            dependencies: [
                "CFunctionsSystem", "StrictJSON", "DocumentModel", "FunctionManifest", "WorkerProtocol",
                "HostProcess", "Sharing",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "PortConnections",
            dependencies: [
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "Gateway",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "FunctionManifest", "WorkerProtocol", "Sharing",
                "TokenVerification", "Workers", "PortConnections",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "ControlProtocol",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "RealtimeModel", "FunctionManifest", "DocumentStore",
                "EventDelivery", "DataDirectory", "FirestoreJSON",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "HummingbirdCore", package: "hummingbird"),
            ],
            swiftSettings: settings),
        .target(
            name: "EventDispatch",
            dependencies: [
                "DocumentModel", "FunctionManifest", "WorkerProtocol", "CommitPipeline", "DocumentStore",
                "EventDelivery", "HostProcess", "Sharing", "Workers", "ControlProtocol",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        // Generated from its .proto file: `make protos`.
        .target(
            name: "FirestoreMessages",
            dependencies: [.product(name: "SwiftProtobuf", package: "swift-protobuf")], exclude: ["Protos"],
            swiftSettings: settings),
        .target(
            name: "FirestoreAPI",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "SecurityRules", "Sharing", "DocumentStore", "GoogleREST",
                "PortConnections", "FirestoreJSON", "FirestoreMessages",
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .target(
            name: "RealtimeAPI",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "Sharing", "RealtimeModel", "RealtimeHashing",
                "SecurityRules",
                "CommitPipeline",
                "RealtimeStore", "PortConnections",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOWebSocket", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "FunctionStores",
            dependencies: [
                "StrictJSON", "DocumentModel", "RealtimeModel", "UserModel", "WorkerProtocol", "Sharing",
                "DatabaseObservations", "CommitPipeline",
                "DocumentStore", "RealtimeStore", "IdentityProvider",
            ],
            swiftSettings: settings),
        .target(
            name: "EventsAPI",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "CommitPipeline", "DocumentStore", "OutboundHTTP",
                "Sharing", "GoogleREST", "FirestoreJSON", "Workers", "EventDispatch",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "HostConfiguration",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "Sharing", "SecurityRules", "FunctionManifest",
                "StorageEngine", "CommitPipeline", "DocumentStore", "DataDirectory", "Workers",
            ],
            swiftSettings: settings),
        .target(
            name: "Deployments",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "SecurityRules", "FunctionManifest", "WorkerProtocol",
                "CommitPipeline",
                "DocumentStore", "EventDelivery", "DataDirectory", "HostProcess", "Sharing", "Workers", "Gateway",
                "ControlProtocol", "EventDispatch", "HostConfiguration",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "ControlAPI",
            dependencies: [
                "StrictJSON", "DocumentModel", "SecurityRules", "FunctionManifest", "WorkerProtocol", "StorageEngine",
                "EmbeddedStorage",
                "CommitPipeline", "DocumentStore", "UserStore", "DataDirectory", "HostProcess", "TokenVerification",
                "ServiceAccounts", "Sharing", "IdentityProvider", "TextFormats", "GoogleREST",
                "FirestoreJSON", "FirestoreClient", "Workers", "Gateway", "ControlProtocol", "EventDelivery",
                "EventDispatch", "RealtimeModel", "RealtimeStore", "RealtimeAPI", "EventsAPI", "HostConfiguration",
                "Deployments",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "FunctionsHost",
            dependencies: [
                "StrictJSON", "DocumentModel", "SecurityRules", "FunctionManifest", "WorkerProtocol", "SQLiteStorage",
                "EmbeddedStorage",
                "CommitPipeline", "DocumentStore", "StorageEngine", "UserModel", "UserStore",
                "EventDelivery",
                "DataDirectory", "HostProcess", "Sharing", "TokenVerification", "ServiceAccounts", "TransportSecurity",
                "MailTransfer", "IdentityProvider", "AppCheck",
                "Workers", "PortConnections", "Gateway", "EventDispatch", "FirestoreAPI", "RealtimeStore",
                "RealtimeAPI", "FunctionStores", "EventsAPI",
                "HostConfiguration", "Deployments", "ControlAPI",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "FunctionsTesting",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "SecurityRules", "FunctionManifest", "WorkerProtocol",
                "FunctionsRuntime",
                "StorageEngine",
                "CommitPipeline", "DocumentStore", "RealtimeModel", "RealtimeStore", "UserStore", "EventDelivery",
                "TokenVerification", "IdentityProvider", "RealtimeAPI", "FunctionStores",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "FunctionsServing",
            dependencies: [
                "DocumentModel", "FunctionManifest", "WorkerProtocol", "FunctionsRuntime", "HostProcess",
                "OutboundHTTP",
                "TokenVerification", "FirestoreClient", "IdentityToolkitClient", "RealtimeDatabaseClient", "Workers",
                "Gateway",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "FunctionsHTTPClient",
            dependencies: [
                "TextFormats", "WorkerProtocol", "FunctionsRuntime",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            swiftSettings: settings),
        .target(
            name: "FunctionsMessaging",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "FunctionsRuntime", "FunctionsHTTPClient",
                .product(name: "_CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(
            name: "FunctionsWebhooks",
            dependencies: [
                "TextFormats", "DocumentModel", "FunctionsRuntime", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "functions-host",
            dependencies: [
                "StrictJSON", "DocumentModel", "SecurityRules", "StorageEngine", "CommitPipeline",
                "DocumentStore",
                "DataDirectory", "HostProcess", "ServiceAccounts", "TransportSecurity", "FirestoreClient",
                "IdentityProvider", "Workers", "ControlProtocol", "Sharing",
                "HostConfiguration",
                "Deployments",
                "ControlAPI", "FunctionsHost",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        .executableTarget(name: "ShopFunctions", dependencies: ["FunctionsRuntime"], swiftSettings: settings),
        .executableTarget(name: "ChatFunctions", dependencies: ["FunctionsRuntime"], swiftSettings: settings),
        // Samples for authors, built as authors' packages are, and the services that they use.
        .target(
            name: "MailModels", dependencies: ["FunctionsRuntime"], path: "Samples/MailModels"),
        .executableTarget(
            name: "MailFunctions",
            dependencies: ["FunctionsRuntime", "FunctionsHTTPClient", "MailModels"],
            path: "Samples/Mail"),
        .executableTarget(
            name: "PaymentFunctions",
            dependencies: ["FunctionsRuntime", "FunctionsWebhooks", "MailModels"],
            path: "Samples/Payments"),
        .executableTarget(
            name: "PushFunctions",
            dependencies: ["FunctionsRuntime", "FunctionsMessaging"],
            path: "Samples/Push"),
        .executableTarget(
            name: "ObjectStoreFunctions",
            dependencies: [
                "FunctionsRuntime", "FunctionsHTTPClient", .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Samples/ObjectStore"),
        .executableTarget(
            name: "ChatbotFunctions",
            dependencies: ["FunctionsRuntime", "FunctionsHTTPClient"],
            path: "Samples/Chatbot"),
        .executableTarget(
            name: "StandIns", dependencies: ["FunctionsRuntime"], path: "Samples/StandIns"),
        // What tests share, and what they start.
        .target(name: "CTestSystem", path: "Tests/CTestSystem"),
        .target(
            name: "TestSupport",
            dependencies: [
                "CTestSystem", "DocumentModel",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
            ],
            path: "Tests/TestSupport",
            swiftSettings: settings),
        .target(
            name: "StoreTestSupport",
            dependencies: [
                "DocumentModel", "StorageEngine", "SQLiteStorage", "RocksDBStorage", "CommitPipeline", "TestSupport",
            ],
            path: "Tests/StoreTestSupport",
            swiftSettings: settings),
        .target(
            name: "HostTesting",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "FunctionManifest", "StorageEngine", "CommitPipeline",
                "DocumentStore", "EventDelivery", "DataDirectory", "TokenVerification", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
            ],
            path: "Tests/HostTesting",
            swiftSettings: settings),
        .target(
            name: "WorkerTesting",
            dependencies: [
                "DocumentModel", "FunctionManifest", "WorkerProtocol", "TokenVerification", "Workers", "Gateway",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOEmbedded", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/WorkerTesting",
            swiftSettings: settings),
        .executableTarget(
            name: "FixtureFunctions",
            dependencies: ["WorkerProtocol", "FunctionsRuntime", .product(name: "NIOCore", package: nio)],
            path: "Tests/FixtureFunctions",
            swiftSettings: settings),
        .executableTarget(
            name: "StandaloneFunctions",
            dependencies: ["FunctionsRuntime", "FunctionsServing"],
            path: "Tests/StandaloneFunctions",
            swiftSettings: settings),
        .executableTarget(
            name: "StoreTorture",
            dependencies: [
                "DocumentModel", "WorkerProtocol", "StorageEngine", "EmbeddedStorage", "CommitPipeline",
                "DocumentStore", "SecurityRules", "TestSupport",
            ],
            path: "Tests/StoreTorture",
            swiftSettings: settings),
        // Of use in a release build only: `make bench`.
        .executableTarget(
            name: "functions-bench",
            dependencies: [
                "DocumentModel", "SecurityRules", "FunctionManifest", "StorageEngine", "EmbeddedStorage",
                "CommitPipeline",
                "DocumentStore", "ControlProtocol", "EventDispatch", "HostConfiguration", "Deployments",
                "FirestoreMessages", "RealtimeModel", "RealtimeHashing", "RealtimeStore", "StrictJSON", "TextFormats",
                "TokenVerification",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/functions-bench",
            swiftSettings: settings),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "TextFormatsTests", dependencies: ["TextFormats"], swiftSettings: settings),
        .testTarget(
            name: "DocumentModelTests",
            dependencies: ["DocumentModel", "TestSupport"],
            swiftSettings: settings),
        .testTarget(name: "FunctionManifestTests", dependencies: ["FunctionManifest"], swiftSettings: settings),
        .testTarget(
            name: "WorkerProtocolTests",
            dependencies: [
                "DocumentModel", "UserModel", "FunctionManifest", "WorkerProtocol", "TestSupport",
                .product(name: "NIOCore", package: nio),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionsRuntimeTests",
            dependencies: [
                "DocumentModel", "UserModel", "FunctionManifest", "WorkerProtocol", "FunctionsRuntime", "TestSupport",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "RulesTesting", dependencies: ["TestSupport"], path: "Tests/RulesTesting", swiftSettings: settings),
        .testTarget(
            name: "SecurityRulesTests",
            dependencies: [
                "StrictJSON", "DocumentModel", "SecurityRules", "FirestoreJSON", "RulesTesting", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "StorageEngineTests",
            dependencies: ["StorageEngine", "TestSupport", "StoreTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "RocksDBStorageTests",
            dependencies: ["CRocksDB", "StorageEngine", "RocksDBStorage", "TestSupport", "StoreTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "EmbeddedStorageTests",
            dependencies: [
                "StorageEngine", "EmbeddedStorage", "SQLiteStorage", "RocksDBStorage", "TestSupport",
                "StoreTestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "SQLiteStorageTests",
            dependencies: [
                "CSQLiteLog", "DocumentModel", "StorageEngine", "SQLiteStorage", "TestSupport", "StoreTestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "CommitPipelineTests",
            dependencies: [
                "DocumentModel", "Sharing", "StorageEngine", "CommitPipeline", "TestSupport", "StoreTestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DocumentStoreTests",
            dependencies: [
                "DocumentModel", "WorkerProtocol", "StorageEngine", "SQLiteStorage", "EmbeddedStorage",
                "CommitPipeline",
                "DocumentStore", "TestSupport", "StoreTestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "EventDeliveryTests",
            dependencies: [
                "DocumentModel", "FunctionManifest", "StorageEngine", "CommitPipeline", "DocumentStore",
                "EventDelivery", "ControlProtocol", "EventDispatch", "TestSupport", "StoreTestSupport", "HostTesting",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DataDirectoryTests",
            dependencies: ["DataDirectory", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "HostProcessTests",
            dependencies: [
                "TestSupport",
                "StrictJSON", "DocumentModel", "WorkerProtocol", "HostProcess", "TokenVerification",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OutboundHTTPTests",
            dependencies: [
                "OutboundHTTP", "TestSupport",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "SharingTests", dependencies: ["CFunctionsSystem", "Sharing", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "TokenVerificationTests",
            dependencies: [
                "StrictJSON", "TextFormats", "DataDirectory", "OutboundHTTP", "TokenVerification", "TestSupport",
                "HostTesting",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ServiceAccountsTests",
            dependencies: [
                "StrictJSON", "TextFormats", "DataDirectory", "TokenVerification", "ServiceAccounts", "TestSupport",
                "HostTesting",
                .product(name: "NIOCore", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TransportSecurityTests",
            dependencies: [
                "TransportSecurity", "TestSupport", "HostTesting",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOEmbedded", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOTLS", package: nio),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .target(
            name: "RealtimeTesting",
            dependencies: [
                "StrictJSON", "RealtimeModel", "RealtimeHashing", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/RealtimeTesting", swiftSettings: settings),
        .testTarget(
            name: "RealtimeModelTests",
            dependencies: ["StrictJSON", "RealtimeModel", "RealtimeHashing", "TestSupport", "RealtimeTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "RealtimeHashingTests",
            dependencies: [
                "StrictJSON", "RealtimeModel", "RealtimeHashing", "TestSupport", "RealtimeTesting",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionStoresTests",
            dependencies: [
                "DocumentModel", "RealtimeModel", "StorageEngine", "CommitPipeline", "DocumentStore", "RealtimeStore",
                "WorkerProtocol", "Sharing", "FunctionStores", "TestSupport", "StoreTestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "UserModelTests", dependencies: ["DocumentModel", "UserModel", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "UserStoreTests",
            dependencies: [
                "DocumentModel", "StorageEngine", "SQLiteStorage", "CommitPipeline", "DocumentStore", "UserStore",
                "FunctionsHost", "TestSupport", "StoreTestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "RealtimeStoreTests",
            dependencies: [
                "StrictJSON", "DocumentModel", "RealtimeModel", "RealtimeHashing", "StorageEngine", "CommitPipeline",
                "RealtimeStore",
                "TestSupport", "StoreTestSupport", "RealtimeTesting",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MailTransferTests",
            dependencies: [
                "TextFormats", "MailTransfer", "TestSupport",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "IdentityProviderTests",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "UserModel", "StorageEngine", "SQLiteStorage",
                "CommitPipeline", "DocumentStore", "UserStore", "OutboundHTTP", "TokenVerification", "MailTransfer",
                "IdentityProvider", "TestSupport", "HostTesting",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AppCheckTests",
            dependencies: [
                "StrictJSON", "DocumentModel", "SQLiteStorage", "CommitPipeline", "UserStore", "TokenVerification",
                "IdentityProvider", "AppCheck", "TestSupport", "HostTesting",
                .product(name: "NIOCore", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "GoogleRESTTests",
            dependencies: ["StrictJSON", "DocumentModel", "GoogleREST", .product(name: "NIOCore", package: nio)],
            swiftSettings: settings),
        .testTarget(
            name: "FirestoreJSONTests",
            dependencies: [
                "CFunctionsSystem", "StrictJSON", "DocumentModel", "GoogleREST", "FirestoreJSON",
                .product(name: "NIOCore", package: nio),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FirestoreClientTests",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "WorkerProtocol", "HostProcess", "OutboundHTTP",
                "Sharing", "TokenVerification", "GoogleREST", "FirestoreClient", "TestSupport", "HostTesting",
                .product(name: "_CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "IdentityToolkitClientTests",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "UserModel", "HostProcess", "OutboundHTTP",
                "TokenVerification", "FirestoreClient", "IdentityToolkitClient", "TestSupport",
                .product(name: "_CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "RealtimeDatabaseClientTests",
            dependencies: [
                "DocumentModel", "RealtimeModel", "RealtimeStore", "RealtimeAPI",
                "StorageEngine", "DocumentStore", "FunctionStores", "WorkerProtocol", "FunctionsRuntime",
                "HostProcess", "OutboundHTTP", "FirestoreClient", "RealtimeDatabaseClient", "TestSupport",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DatabaseObservationsTests",
            dependencies: ["DocumentModel", "WorkerProtocol", "Sharing", "DatabaseObservations"],
            swiftSettings: settings),
        .testTarget(
            name: "WorkersTests",
            dependencies: [
                "Sharing", "HostProcess",
                "StrictJSON", "DocumentModel", "FunctionManifest", "WorkerProtocol", "Workers", "Gateway",
                "HostConfiguration",
                "FunctionsHost", "TestSupport", "WorkerTesting",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOEmbedded", package: nio),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionsHostTests",
            dependencies: [
                "FunctionsHost", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PortConnectionsTests",
            dependencies: [
                "PortConnections",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOEmbedded", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOPosix", package: nio),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "StrictJSON", "DocumentModel", "FunctionManifest", "WorkerProtocol", "Sharing", "TokenVerification",
                "Workers", "Gateway", "TestSupport", "HostTesting", "WorkerTesting",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOEmbedded", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ControlProtocolTests",
            dependencies: ["DocumentModel", "RealtimeModel", "ControlProtocol"],
            swiftSettings: settings),
        .testTarget(
            name: "EventDispatchTests",
            dependencies: [
                "Sharing",
                "DocumentModel", "FunctionManifest", "WorkerProtocol", "StorageEngine", "CommitPipeline",
                "DocumentStore", "EventDelivery", "Workers", "Gateway", "ControlProtocol", "EventDispatch",
                "EventsAPI", "ControlAPI", "HostConfiguration", "TestSupport", "StoreTestSupport", "HostTesting",
                "WorkerTesting",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FirestoreAPITests",
            dependencies: [
                "StrictJSON", "DocumentModel", "SecurityRules", "Sharing", "FirestoreJSON", "FirestoreAPI",
                "GoogleREST", "HostTesting", "StorageEngine", "CommitPipeline", "DocumentStore", "TestSupport",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOEmbedded", package: nio),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                "FirestoreMessages",
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "RealtimeAPITests",
            dependencies: [
                "CFunctionsSystem", "StrictJSON", "TextFormats", "DocumentModel", "Sharing", "SecurityRules",
                "StorageEngine", "CommitPipeline", "RealtimeModel", "RealtimeHashing", "RealtimeStore", "RealtimeAPI",
                "TestSupport", "HostTesting", "RealtimeTesting",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOEmbedded", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOWebSocket", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "EventsAPITests",
            dependencies: [
                "Sharing",
                "StrictJSON", "TextFormats", "DocumentModel", "StorageEngine", "CommitPipeline", "DocumentStore",
                "OutboundHTTP", "Workers", "ControlProtocol", "EventDispatch", "EventsAPI", "TestSupport",
                "HostTesting",
                .product(name: "NIOCore", package: nio),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "HostConfigurationTests",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "Sharing", "DocumentStore", "Workers",
                "HostConfiguration",
                "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DeploymentsTests",
            dependencies: [
                "DocumentModel", "SecurityRules", "FunctionManifest", "WorkerProtocol", "StorageEngine",
                "CommitPipeline", "DocumentStore", "Workers", "ControlProtocol", "HostConfiguration",
                "Deployments", "TestSupport", "HostTesting",
                .product(name: "NIOCore", package: nio),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ControlAPITests",
            dependencies: [
                "StrictJSON", "DocumentModel", "StorageEngine", "SQLiteStorage", "EmbeddedStorage", "CommitPipeline",
                "DocumentStore", "UserStore", "DataDirectory",
                "RealtimeModel", "RealtimeStore", "HostConfiguration", "ControlProtocol", "ControlAPI", "TestSupport",
                "RealtimeTesting", "HostTesting",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionsTestingTests",
            dependencies: [
                "DocumentModel", "RealtimeModel", "RealtimeHashing", "HostConfiguration", "ControlProtocol",
                "ControlAPI",
                "FunctionsRuntime", "FunctionsTesting", "TestSupport", "RealtimeTesting",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionsServingTests",
            dependencies: [
                "FunctionManifest", "WorkerProtocol", "HostProcess", "Workers", "Gateway", "FunctionsServing",
                .product(name: "NIOHTTP1", package: nio),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionsHTTPClientTests",
            dependencies: [
                "FunctionsRuntime", "FunctionsTesting", "FunctionsHTTPClient", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionsMessagingTests",
            dependencies: [
                "StrictJSON", "TextFormats", "DocumentModel", "FunctionsRuntime", "FunctionsTesting",
                "FunctionsHTTPClient", "FunctionsMessaging", "TestSupport",
                .product(name: "_CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "FunctionsWebhooksTests",
            dependencies: [
                "TextFormats", "FunctionsRuntime", "FunctionsTesting", "FunctionsWebhooks",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ShopFunctionsTests",
            dependencies: ["FunctionsRuntime", "FunctionsTesting", "ShopFunctions", "StandaloneFunctions"],
            swiftSettings: settings),
        .testTarget(
            name: "ChatFunctionsTests",
            dependencies: ["FunctionsRuntime", "FunctionsTesting", "ChatFunctions"],
            swiftSettings: settings),
        .testTarget(
            name: "SamplesTests",
            dependencies: [
                "FunctionsRuntime", "FunctionsTesting", "FunctionsHTTPClient", "MailModels", "MailFunctions",
                "PaymentFunctions", "PushFunctions", "ObjectStoreFunctions", "ChatbotFunctions", "StandIns",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            path: "Samples/Tests"),
        .testTarget(name: "ArchitectureTests", swiftSettings: settings),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CTestSystem", "StrictJSON", "DocumentModel", "SecurityRules", "FirestoreJSON", "RulesTesting",
                "FunctionManifest",
                "WorkerProtocol", "FunctionsRuntime", "StorageEngine",
                "DocumentStore", "Sharing", "FirestoreClient", "Workers", "FunctionsTesting", "FunctionsHTTPClient",
                "FunctionsMessaging", "FunctionsWebhooks", "HostConfiguration", "TestSupport", "ShopFunctions",
                "ChatFunctions", "FixtureFunctions", "StandaloneFunctions",
                "functions-host", "MailFunctions", "PaymentFunctions", "PushFunctions", "ObjectStoreFunctions",
                "ChatbotFunctions", "StandIns",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOWebSocket", package: nio),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            exclude: ["Documents/Clients"],
            swiftSettings: settings),
        .testTarget(
            name: "StoreTortureTests",
            dependencies: [
                "DocumentModel", "WorkerProtocol", "StorageEngine", "SQLiteStorage", "RocksDBStorage",
                "EmbeddedStorage", "CommitPipeline",
                "DocumentStore", "SecurityRules", "TestSupport", "StoreTorture",
            ],
            swiftSettings: settings),
        .testTarget(name: "TestSupportTests", dependencies: ["DocumentModel", "TestSupport"], swiftSettings: settings),
    ]
)
