package import Workers
package import FunctionManifest

/// What `functions.json` says, checked: a value of this type can be started with.
///
/// Paths are absolute; what the file left out has its default.
package struct HostConfiguration: Hashable, Sendable {
    /// The Firebase project id.
    package var project: String
    package var mode: Mode
    /// The data directory.
    package var data: String
    package var listen: Listen
    package var store: Store
    /// The file of the security rules; nil where none is named.
    package var rules: String?
    /// The file of the indexes; nil where none is named.
    package var indexes: String?
    /// In the file's order; names are unique.
    package var bundles: [Bundle]
    /// What the operator sets over the author's options, by function name. Whether there is such a function is known
    /// only with the bundles' manifests: see ``problem(at:_:)``.
    package var functions: [String: FunctionOverrides]
    package var limits: HostLimits
    package var alerts: Alerts
    package var releases = Releases()
    /// The values of params, by name. Whether there is such a param is known only with the bundles' manifests.
    package var params: [String: ParamValue]
    /// The file of secrets; nil for `.secrets` and `.secrets.PROJECT` beside `functions.json`.
    package var secrets: String?
    /// Where each key stands in the file.
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

    /// Development has its helpers, its unsigned tokens and its admin; production has none of them.
    package enum Mode: String, Hashable, Sendable, CaseIterable {
        case development, production
    }

    /// The address and the ports. Port 0 takes any free one.
    package struct Listen: Hashable, Sendable {
        package var host = "127.0.0.1"
        package var functions = 5001
        package var firestore = 8080
        package var auth = 9099
        /// Where tasks are enqueued and events published.
        package var events = 9299
        /// Whose word counts on where a request to the functions port comes from.
        package var trustedProxies: [String] = []

        package init() {}
    }

    package struct Store: Hashable, Sendable {
        package var engine = Engine.sqlite
        /// How far back documents can be read and listeners can go on, as long as the size allows it.
        package var historySeconds = 3600
        package var historyMiB = 1024

        package init() {}

        package enum Engine: String, Hashable, Sendable, CaseIterable {
            case sqlite
        }
    }

    /// One executable that holds functions.
    package struct Bundle: Hashable, Sendable {
        package var name: String
        package var source: Source

        package init(name: String, source: Source) {
            self.name = name
            self.source = source
        }

        package enum Source: Hashable, Sendable {
            /// An executable product of the Swift package that `functions.json` stands in.
            case product(String, package: String)
            /// An executable file.
            case executable(String)
        }
    }

    /// What an operator sets for one function; nil leaves the author's choice.
    package struct FunctionOverrides: Hashable, Sendable {
        package var region: String?
        package var memory: MemorySize?
        /// Seconds, 1...3600. Events and schedules have lower bounds, which only the manifest can tell.
        package var timeout: Int?
        package var minInstances: Int?
        package var maxInstances: Int?
        package var concurrency: Int?
        package var cpu: Int?
        package var budget: FunctionBudget?
        /// In place of the author's; none lifts them.
        package var rateLimits: [RateLimitManifest]?

        package init() {}
    }

    /// Where the operator is told of what needs a look.
    package struct Alerts: Hashable, Sendable {
        /// An http or https URL that is sent JSON.
        package var webhook: String?

        package init() {}
    }

    /// What is kept of deployments.
    package struct Releases: Hashable, Sendable {
        /// How many releases of each bundle, the one that is served among them.
        package var keep = 10

        package init() {}
    }

    /// The error of a key whose value turns out impossible once more is known, such as a function no bundle has:
    /// `problem(at: "functions.purchas", "no bundle has a function \"purchas\"")`.
    package func problem(at key: String, _ message: String) -> ConfigurationError {
        ConfigurationError(file: places.file, problems: [.init(place: places[key], key: key, message: message)])
    }
}
