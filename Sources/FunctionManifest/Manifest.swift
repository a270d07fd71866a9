package import DocumentModel

/// A bundle's functions as data. This is all that the host knows of them.
package struct Manifest: Codable, Equatable, Sendable {
    /// The version of the protocol between host and workers, including manifests. A host must know all that a bundle of
    /// its version sends, so each addition increments it.
    package static let protocolVersion = 8
    /// The versions of bundles that this host serves: with each change that it isn't made for, the first becomes later.
    package static let servedVersions = 6...protocolVersion
    /// ``servedVersions`` in words.
    package static let servedWords = "\(servedVersions.lowerBound) to \(servedVersions.upperBound)"

    package var protocolVersion: Int
    package var functions: [FunctionManifest]
    /// The values that the operator supplies, including secrets. Names are unique.
    package var params: [ParamManifest]

    package init(
        protocolVersion: Int = Self.protocolVersion, functions: [FunctionManifest], params: [ParamManifest] = []
    ) {
        self.protocolVersion = protocolVersion
        self.functions = functions
        self.params = params
    }
}

/// One function: its trigger and its options.
package struct FunctionManifest: Codable, Equatable, Sendable {
    package var name: String
    package var regions: [String]
    package var memoryMiB: Int
    package var timeoutSeconds: Int
    package var cpu: Double
    package var concurrency: Int
    package var minInstances: Int
    package var maxInstances: Int
    package var labels: [String: String]
    /// The names of the secrets that the function may read.
    package var secrets: [String]
    /// All of them apply.
    package var rateLimits: [RateLimitManifest]
    package var ingress: String
    package var invoker: [String]
    /// Whether the handler's writes and the end of its invocation are one commit.
    package var isTransactional: Bool
    package var trigger: TriggerManifest

    package init(
        name: String, regions: [String], memoryMiB: Int, timeoutSeconds: Int, cpu: Double, concurrency: Int,
        minInstances: Int, maxInstances: Int, labels: [String: String], secrets: [String],
        rateLimits: [RateLimitManifest] = [], ingress: String, invoker: [String], isTransactional: Bool,
        trigger: TriggerManifest
    ) {
        self.name = name
        self.regions = regions
        self.memoryMiB = memoryMiB
        self.timeoutSeconds = timeoutSeconds
        self.cpu = cpu
        self.concurrency = concurrency
        self.minInstances = minInstances
        self.maxInstances = maxInstances
        self.labels = labels
        self.secrets = secrets
        self.rateLimits = rateLimits
        self.ingress = ingress
        self.invoker = invoker
        self.isTransactional = isTransactional
        self.trigger = trigger
    }
}

/// What triggers a function.
package enum TriggerManifest: Codable, Equatable, Sendable {
    case callable(CallableTrigger)
    case http(HTTPTrigger)
    case document(DocumentTrigger)
    case reference(ReferenceTrigger)
    case schedule(ScheduleTrigger)
    case task(TaskTrigger)
    case event(EventTrigger)
    case blocking(BlockingTrigger)

    package struct CallableTrigger: Codable, Equatable, Sendable {
        package var cors: CORSPolicy
        package var enforceAppCheck: Bool
        /// Whether a call consumes its App Check token.
        package var consumeAppCheckToken: Bool
        /// The interval of keep-alives on a silent stream in seconds; nil for none.
        package var heartbeatSeconds: Int?
        /// Whether the handler finds an idempotency key in the data.
        package var hasIdempotencyKey: Bool

        package init(
            cors: CORSPolicy, enforceAppCheck: Bool, consumeAppCheckToken: Bool = false, heartbeatSeconds: Int?,
            hasIdempotencyKey: Bool = false
        ) {
            self.hasIdempotencyKey = hasIdempotencyKey
            self.cors = cors
            self.enforceAppCheck = enforceAppCheck
            self.consumeAppCheckToken = consumeAppCheckToken
            self.heartbeatSeconds = heartbeatSeconds
        }
    }

    package struct HTTPTrigger: Codable, Equatable, Sendable {
        package var cors: CORSPolicy

        package init(cors: CORSPolicy) { self.cors = cors }
    }

    package struct DocumentTrigger: Codable, Equatable, Sendable {
        package var eventType: ChangeEventType
        package var document: String
        /// Nil if an event whose handler fails is dropped.
        package var retry: EventRetryManifest?
        /// Whether the changes of one document are handled one at a time, in commit order.
        package var isOrdered: Bool
        /// Whether the function wants the event type with auth context. Our events always contain it.
        package var hasAuthContext: Bool

        package init(
            eventType: ChangeEventType, document: String, retry: EventRetryManifest? = nil, isOrdered: Bool = false,
            hasAuthContext: Bool = false
        ) {
            self.eventType = eventType
            self.document = document
            self.retry = retry
            self.isOrdered = isOrdered
            self.hasAuthContext = hasAuthContext
        }

        /// `google.cloud.firestore.document.v1.created`, or with the suffix `.withAuthContext`.
        package var cloudEventType: String {
            "google.cloud.firestore.document.v1." + eventType.rawValue + (hasAuthContext ? ".withAuthContext" : "")
        }
    }

    /// A place in the Realtime Database.
    package struct ReferenceTrigger: Codable, Equatable, Sendable {
        package var eventType: ChangeEventType
        package var reference: String
        /// The databases that the function is for.
        package var instance: String
        /// Nil if an event whose handler fails is dropped.
        package var retry: EventRetryManifest?
        /// Whether the changes of one node are handled one at a time, in commit order.
        package var isOrdered: Bool

        package init(
            eventType: ChangeEventType, reference: String, instance: String = "*", retry: EventRetryManifest? = nil,
            isOrdered: Bool = false
        ) {
            self.eventType = eventType
            self.reference = reference
            self.instance = instance
            self.retry = retry
            self.isOrdered = isOrdered
        }

        package var cloudEventType: String { "google.firebase.database.ref.v1." + eventType.rawValue }
    }

    package struct ScheduleTrigger: Codable, Equatable, Sendable {
        package var schedule: String
        package var timeZone: String
        package var retryCount: Int
        package var maxRetrySeconds: Int
        package var minBackoffSeconds: Int
        package var maxBackoffSeconds: Int
        package var maxDoublings: Int
        package var missedRuns: MissedRunsManifest
        /// Whether a run may start while the previous one is in progress.
        package var overlaps: Bool

        package init(
            schedule: String, timeZone: String, retryCount: Int, maxRetrySeconds: Int, minBackoffSeconds: Int,
            maxBackoffSeconds: Int, maxDoublings: Int, missedRuns: MissedRunsManifest = .once, overlaps: Bool = false
        ) {
            self.schedule = schedule
            self.timeZone = timeZone
            self.retryCount = retryCount
            self.maxRetrySeconds = maxRetrySeconds
            self.minBackoffSeconds = minBackoffSeconds
            self.maxBackoffSeconds = maxBackoffSeconds
            self.maxDoublings = maxDoublings
            self.missedRuns = missedRuns
            self.overlaps = overlaps
        }
    }

    /// A queue of tasks.
    package struct TaskTrigger: Codable, Equatable, Sendable {
        /// The maximum number of attempts; -1 for no limit.
        package var maxAttempts: Int
        /// The time limit for attempts; 0 for no limit.
        package var maxRetrySeconds: Int
        package var minBackoffSeconds: Double
        package var maxBackoffSeconds: Double
        package var maxDoublings: Int
        package var maxConcurrentDispatches: Int
        package var maxDispatchesPerSecond: Double

        package init(
            maxAttempts: Int = 3, maxRetrySeconds: Int = 0, minBackoffSeconds: Double = 0.1,
            maxBackoffSeconds: Double = 3600, maxDoublings: Int = 16, maxConcurrentDispatches: Int = 1000,
            maxDispatchesPerSecond: Double = 500
        ) {
            self.maxAttempts = maxAttempts
            self.maxRetrySeconds = maxRetrySeconds
            self.minBackoffSeconds = minBackoffSeconds
            self.maxBackoffSeconds = maxBackoffSeconds
            self.maxDoublings = maxDoublings
            self.maxConcurrentDispatches = maxConcurrentDispatches
            self.maxDispatchesPerSecond = maxDispatchesPerSecond
        }
    }

    /// Events selected by type, and by attributes that must be equal.
    package struct EventTrigger: Codable, Equatable, Sendable {
        package var eventType: String
        package var filters: [String: String]
        package var retry: EventRetryManifest?

        package init(eventType: String, filters: [String: String] = [:], retry: EventRetryManifest? = nil) {
            self.eventType = eventType
            self.filters = filters
            self.retry = retry
        }
    }
}

extension TriggerManifest {
    /// A function that may refuse what a client is about to do.
    package struct BlockingTrigger: Codable, Equatable, Sendable {
        package enum Moment: String, Codable, Sendable, CaseIterable {
            case beforeCreate, beforeSignIn, beforeSendEmail
        }

        package var moment: Moment

        package init(moment: Moment) { self.moment = moment }

        /// As Firebase's tools name it.
        package var eventType: String {
            switch moment {
            case .beforeCreate: "providers/cloud.auth/eventTypes/user.beforeCreate"
            case .beforeSignIn: "providers/cloud.auth/eventTypes/user.beforeSignIn"
            case .beforeSendEmail: "providers/cloud.auth/eventTypes/user.beforeSendEmail"
            }
        }
    }
}

/// How an event whose handler fails is retried: with exponential backoff, up to a maximum age.
package struct EventRetryManifest: Codable, Equatable, Sendable {
    package var minBackoffSeconds: Double
    package var maxBackoffSeconds: Double
    /// Counted from the event. Then the delivery is dead-lettered.
    package var maxAgeSeconds: Int
    /// Nil if only the age limits the attempts.
    package var maxAttempts: Int?

    package init(
        minBackoffSeconds: Double = 10, maxBackoffSeconds: Double = 600, maxAgeSeconds: Int = 86_400,
        maxAttempts: Int? = nil
    ) {
        self.minBackoffSeconds = minBackoffSeconds
        self.maxBackoffSeconds = maxBackoffSeconds
        self.maxAgeSeconds = maxAgeSeconds
        self.maxAttempts = maxAttempts
    }
}

/// What happens to a job's runs that were due while the host was down or the previous run was in progress.
package enum MissedRunsManifest: Codable, Hashable, Sendable {
    /// One run, with the due time of the last one.
    case once
    case skip
    /// Each of them, up to the latest `max`.
    case all(max: Int)
}

/// Which web origins may call a function from a browser.
package enum CORSPolicy: Codable, Equatable, Sendable {
    case off
    case any
    /// Origins, and patterns of them: ``OriginPattern``.
    case origins([String])

    /// Whether a page of this origin may read the response.
    package func allows(_ origin: String) -> Bool {
        switch self {
        case .off: false
        case .any: true
        case .origins(let origins):
            origins.contains { text in
                if text == origin { return true }
                guard text.utf8.contains(UInt8(ascii: "*")) else { return false }
                return OriginPattern(text)?.matches(origin) ?? false
            }
        }
    }
}
