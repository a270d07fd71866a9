/// The keys of `functions.json`. A test compares them with the published schema.
enum ConfigurationKeys {
    static let root = [
        "$schema", "project", "mode", "data", "listen", "store", "rules", "indexes", "databaseRules", "database",
        "bundles", "functions", "limits",
        "alerts", "releases", "logs", "params", "secrets", "clients", "auth", "appCheck",
        "environments",
    ]
    static let listen = [
        "host", "functions", "firestore", "database", "auth", "events", "trustedProxies", "hosts", "tls",
    ]
    static let tls = ["certificate", "key"]
    static let database = [
        "namespaces", "disconnectSeconds", "listens", "listenMemory", "waitingRequests", "unreadPushes", "message",
        "unindexedNodes",
    ]
    static let store = ["engine", "historySeconds", "historyMiB"]
    static let bundle = ["name", "product", "executable"]
    static let function = [
        "region", "memory", "timeout", "minInstances", "maxInstances", "concurrency", "cpu", "budget",
        "callerLimits",
    ]
    static let budget = ["invocationsPerDay", "computeSecondsPerDay", "warnAt"]
    static let callerLimit = ["per", "count", "seconds"]
    static let limits = [
        "requestBody", "queue", "connections", "shutdownGrace", "eventDepth", "responseBody", "openFiles", "processes",
        "cgroups", "allBodies", "allAnswers", "transferSeconds", "queryEntries", "queryDocuments", "querySeconds",
        "commitChanges", "workerOperations", "allOperations",
    ]
    static let auth = [
        "issuer", "signedTokens", "keyRotationDays", "projectNumber", "publicAddress", "authorizedDomains",
        "duplicateEmails",
        "hideAccounts",
        "passwords", "attempts", "providers", "mail", "sms",
    ]
    static let mail = ["smtp", "webhook", "from", "replyTo", "templates", "links"]
    static let smtp = ["host", "port", "tls", "user", "secret", "authorities"]
    static let sms = ["webhook"]
    static let webhook = ["url", "secret"]
    static let provider = ["issuer", "clientIDs", "profile", "app", "appID", "authorize", "token", "secret"]
    static let passwords = ["minLength", "lowercase", "uppercase", "digit", "symbol", "hashMiB", "threads"]
    static let attempts = ["perAccount", "perAddress"]
    static let appCheck = ["apps", "enforce"]
    static let appCheckApp = ["debugTokens", "ttlSeconds"]
    static let appCheckServices = ["functions", "firestore", "database", "auth"]
    static let alerts = ["webhook"]
    static let releases = ["keep"]
    static let logs = ["calls", "level", "days", "mebibytes"]

    /// Keys that an environment can't have.
    static let fileOnly = ["$schema", "environments"]
}
