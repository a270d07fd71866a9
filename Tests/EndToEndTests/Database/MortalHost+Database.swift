extension MortalHost {
    /// A host without functions whose database port stays the same, so that clients find it after a restart.
    ///
    /// - Parameters:
    ///   - disconnectSeconds: how long former clients have to come back after a start.
    ///   - rules: those of the database.
    static func withDatabasePort(
        disconnectSeconds: Int, rules: String = #"{ "rules": { ".read": true, ".write": true } }"#
    ) async throws -> MortalHost {
        let directory = try HostDirectory()
        try directory.write(rules, to: "database.rules.json")
        // Below those that the system gives to others.
        let port = Int.random(in: 20_000..<30_000)
        try directory.configureDatabase(port: port, disconnectSeconds: disconnectSeconds)
        return try await MortalHost(in: directory)
    }
}

extension HostDirectory {
    func configureDatabase(port: Int, disconnectSeconds: Int) throws {
        try configure(
            bundles: "", ports: #""functions": 0, "firestore": 0, "database": \#(port), "auth": 0, "events": 0"#,
            extra: """
                "databaseRules": "database.rules.json",
                  "database": { "disconnectSeconds": \(disconnectSeconds) }
                """)
    }
}
