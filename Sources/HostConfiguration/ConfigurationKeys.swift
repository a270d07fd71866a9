/// The keys of `functions.json`. A test compares them with the published schema.
enum ConfigurationKeys {
    static let root = [
        "$schema", "project", "mode", "data", "listen", "store", "rules", "indexes", "bundles", "functions", "limits",
        "alerts", "releases", "params", "secrets", "environments",
    ]
    static let listen = ["host", "functions", "firestore", "auth", "events", "trustedProxies", "hosts"]
    static let store = ["engine", "historySeconds", "historyMiB"]
    static let bundle = ["name", "product", "executable"]
    static let function = [
        "region", "memory", "timeout", "minInstances", "maxInstances", "concurrency", "cpu", "budget",
        "rateLimits",
    ]
    static let budget = ["invocationsPerDay", "computeSecondsPerDay", "warnAt"]
    static let rateLimit = ["per", "count", "seconds"]
    static let limits = [
        "requestBody", "queue", "connections", "shutdownGrace", "eventDepth", "responseBody", "openFiles", "processes",
        "cgroups", "allBodies", "allAnswers", "transferSeconds", "queryEntries", "queryDocuments", "querySeconds",
        "commitChanges", "workerOperations", "allOperations",
    ]
    static let alerts = ["webhook"]
    static let releases = ["keep"]

    /// Keys that an environment can't have.
    static let fileOnly = ["$schema", "environments"]

    /// Suggests a known name for an unknown one: at most two edits away, fewer for a short name.
    static func nearest(to name: String, in known: [String]) -> String? {
        let bound = min(2, max(1, name.count / 3))
        return known.map { ($0, distance(name.lowercased(), $0.lowercased())) }
            .filter { $0.1 <= bound }
            .min { $0.1 < $1.1 }?.0
    }

    /// The edit distance: letters changed, added, dropped or swapped with their neighbour.
    private static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.prefix(64)), b = Array(b.prefix(64))
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var cost = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforeLast[j - 1] + 1) }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
