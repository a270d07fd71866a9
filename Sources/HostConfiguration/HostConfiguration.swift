package import CommitPipeline
package import FunctionManifest
package import Sharing
package import StorageEngine
package import Workers

/// The validated content of `functions.json`; the host can start with any value of this type.
///
/// Paths are absolute; omitted keys have their defaults.
package struct HostConfiguration: Hashable, Sendable {
    /// What the security rules are called where bundles are named; no bundle may have the name.
    package static let rulesName = "rules"

    /// The Firebase project id.
    package var project: String
    package var mode: Mode
    /// The data directory.
    package var data: String
    package var listen: Listen
    package var store: Store
    /// The file of the security rules; nil if none is named.
    package var rules: String?
    /// The file of the indexes; nil if none is named.
    package var indexes: String?
    /// The file of the Realtime Database's rules; nil if none is named.
    package var databaseRules: String?
    package var database = Database()
    /// In the file's order; names are unique.
    package var bundles: [Bundle]
    /// The operator's overrides of the author's options, by function name. Only the bundles' manifests show whether
    /// such a function exists: see ``problem(at:_:)``.
    package var functions: [String: FunctionOverrides]
    package var limits: HostLimits
    package var clients = ClientLimits()
    package var auth = Auth()
    package var appCheck = AppCheck()
    package var alerts: Alerts
    package var releases = Releases()
    package var logs = Logs()
    /// The values of params, by name. Only the bundles' manifests show whether such a param exists.
    package var params: [String: ParamValue]
    /// The file of secrets; nil for `.secrets` and `.secrets.PROJECT` beside `functions.json`.
    package var secrets: String?
    /// The line and column of each key in the file.
    package var places: ConfigurationPlaces

    package init(
        project: String, mode: Mode, data: String, listen: Listen = Listen(), store: Store = Store(),
        rules: String? = nil, indexes: String? = nil, bundles: [Bundle] = [],
        functions: [String: FunctionOverrides] = [:],
        limits: HostLimits = HostLimits(), alerts: Alerts = Alerts(), params: [String: ParamValue] = [:],
        secrets: String? = nil, places: ConfigurationPlaces
    ) {
        self.project = project
        self.mode = mode
        self.data = data
        self.listen = listen
        self.store = store
        self.rules = rules
        self.indexes = indexes
        self.bundles = bundles
        self.functions = functions
        self.limits = limits
        self.alerts = alerts
        self.params = params
        self.secrets = secrets
        self.places = places
    }

    /// Development accepts unsigned tokens and `Bearer owner` and has the emulator's helpers; production has none of
    /// them.
    package enum Mode: String, Hashable, Sendable, CaseIterable {
        case development, production
    }

    /// The address and the ports. Port 0 means any free port.
    package struct Listen: Hashable, Sendable {
        package var host = "127.0.0.1"
        package var functions = 5001
        package var firestore = 8080
        /// The port of the Realtime Database.
        package var database = 9000
        package var auth = 9099
        /// The port of the API that enqueues tasks and publishes events.
        package var events = 9299
        /// The addresses whose `X-Forwarded-For` header is trusted, on all ports.
        package var trustedProxies: [String] = []
        /// Names that requests may be for in development, beside those of this machine: ``HostPattern``s.
        package var hosts: [String] = []
        /// Nil for ports without TLS.
        package var tls: TLS?

        package init() {}
    }

    /// The files of the certificate and its key, both in PEM.
    package struct TLS: Hashable, Sendable {
        package var certificate: String
        package var key: String
    }

    package struct Store: Hashable, Sendable {
        /// The engine that keeps the data; nil for the one that the data is kept by, or the default for new data.
        package var engine: EmbeddedEngineKind?
        /// How far back documents can be read and listeners can resume, unless the history reaches `historyMiB` before.
        package var historySeconds = 3600
        package var historyMiB = 1024

        package init() {}
    }

    /// An executable that contains functions.
    package struct Bundle: Hashable, Sendable {
        package var name: String
        package var source: Source

        package init(name: String, source: Source) {
            self.name = name
            self.source = source
        }

        package enum Source: Hashable, Sendable {
            /// An executable product of the Swift package whose directory contains `functions.json`.
            case product(String, package: String)
            /// An executable file.
            case executable(String)
        }
    }

    /// The operator's options of one function; nil keeps the author's choice.
    package struct FunctionOverrides: Hashable, Sendable {
        package var region: String?
        package var memory: MemorySize?
        /// Seconds, 1...3600. The limits for events and schedules are lower; they are checked against the manifest.
        package var timeout: Int?
        package var minInstances: Int?
        package var maxInstances: Int?
        package var concurrency: Int?
        package var cpu: Int?
        package var budget: FunctionBudget?
        /// Replaces the author's rate limits; an empty array removes them.
        package var callerLimits: [RateLimitManifest]?

        package init() {}
    }

    /// Where the host sends alerts.
    package struct Alerts: Hashable, Sendable {
        /// An http or https URL; alerts are posted to it as JSON.
        package var webhook: String?

        package init() {}
    }

    /// Which releases are kept.
    package struct Releases: Hashable, Sendable {
        /// How many releases of each bundle are kept, including the served one.
        package var keep = 10

        package init() {}
    }

    /// What is logged, and how much of the log is kept.
    package struct Logs: Hashable, Sendable {
        /// Whether each call has a line.
        package var calls = true
        /// The lowest level of what functions log.
        package var level = Level.info
        package var days = 14
        package var mebibytes = 64

        package init() {}

        /// The levels of swift-log, from the lowest.
        package enum Level: String, CaseIterable, Sendable {
            case trace, debug, info, notice, warning, error, critical
        }
    }

    /// The error for a key whose value is found to be invalid after the file was read, such as a function that no
    /// bundle has: `problem(at: "functions.purchas", "no bundle has a function \"purchas\"")`.
    package func problem(at key: String, _ message: String) -> ConfigurationError {
        ConfigurationError(file: places.file, problems: [.init(place: places[key], key: key, message: message)])
    }
}

extension HostConfiguration {
    /// Reads a configuration file and applies an environment's overrides.
    ///
    /// - Parameters:
    ///   - path: the file; relative paths in it start at its directory.
    ///   - environment: one of the file's `environments`; nil for the file without overrides.
    ///   - checkingFiles: whether the files that it names must be there. Only what uses them needs that: a host whose
    ///     bundle is just being built can be paused all the same.
    /// - Throws: all problems of the file at once. The host must not start with any of them.
    package static func load(
        _ path: String, environment: String? = nil, checkingFiles: Bool = true
    ) throws(ConfigurationError) -> HostConfiguration {
        try ConfigurationReader.read(
            try ConfigurationFile.read(path), file: path, environment: environment, checkingFiles: checkingFiles)
    }

    /// The keys whose values differ and that take effect only after a restart. Params are not among them.
    package func keysNeedingRestart(comparedWith other: HostConfiguration) -> [String] {
        let keys = [
            ("project", project == other.project), ("mode", mode == other.mode), ("data", data == other.data),
            ("listen", listen == other.listen), ("store", store == other.store), ("rules", rules == other.rules),
            ("indexes", indexes == other.indexes), ("databaseRules", databaseRules == other.databaseRules),
            ("database", database == other.database), ("bundles", bundles == other.bundles),
            ("functions", functions == other.functions), ("limits", limits == other.limits),
            ("alerts", alerts == other.alerts), ("releases", releases == other.releases),
            ("logs", logs == other.logs), ("clients", clients == other.clients), ("auth", auth == other.auth),
            ("appCheck", appCheck == other.appCheck),
        ]
        return keys.filter { !$0.1 }.map(\.0)
    }
}

extension HostConfiguration.Store {
    /// The limits of commits, with those of the history. Host and commands open the store with them.
    package var commitConfiguration: CommitConfiguration {
        var configuration = CommitConfiguration()
        configuration.historyRetention = .seconds(historySeconds)
        configuration.maxHistoryBytes = historyMiB << 20
        return configuration
    }
}
