import Sharing

extension StoreRealtimeService {
    /// How many of the largest listens there are a sample of each.
    private static let largestListens = 5

    /// The databases' metrics in the Prometheus format.
    package var metricsText: String {
        let databases = all
        var listens = MetricFamily(
            "functions_database_listen_bytes", "gauge", "The largest listens: the bytes of JSON that each began with.")
        let open = databases.flatMap { database in database.openListens.map { (database.name, $0.path, $0.bytes) } }
        for (name, path, bytes) in open.sorted(by: { $0.2 > $1.2 }).prefix(Self.largestListens) where bytes > 0 {
            listens.sample(["database": name, "path": "\(path)"], bytes)
        }
        var slowest = MetricFamily(
            "functions_database_slowest_decision_seconds", "gauge",
            "The most expensive decision of the rules since they were loaded, estimated, and the rule that it ended with."
        )
        var unindexed = MetricFamily(
            "functions_database_unindexed_queries", "gauge",
            "Places and orders of queries that the rules have no .indexOn for, up to 100."
        )
        for database in databases {
            if let found = database.slowest.value {
                slowest.sample(["database": database.name, "rule": found.rule], found.seconds)
            }
            unindexed.sample(["database": database.name], database.unindexed.sentences.count)
        }
        return listens.text + slowest.text + unindexed.text
    }
}
