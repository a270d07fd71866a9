import HostConfiguration
import TestSupport
import Testing

/// The keys of the Realtime Database.
@Suite struct DatabaseConfigurationTests {
    private func load(_ keys: String) throws -> HostConfiguration {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        try directory.write("database.rules.json", #"{"rules": {}}"#)
        return try HostConfiguration.load(
            try directory.write("functions.json", #"{"project": "demo-shop", "bundles": [], \#(keys)}"#))
    }

    @Test func allKeysAreRead() throws {
        let read = try load(
            """
            "databaseRules": "database.rules.json", "listen": { "database": 9001 },
            "database": { "namespaces": ["demo-shop-staff", "chat"], "disconnectSeconds": 5, "listens": 10,
              "listenMemory": "16MiB", "waitingRequests": 20, "unreadPushes": "64KiB", "message": "1MiB",
              "unindexedNodes": 1000 }
            """)
        #expect(read.databaseRules?.hasSuffix("/database.rules.json") == true)
        #expect(read.listen.database == 9001)
        var expected = HostConfiguration.Database()
        expected.namespaces = ["demo-shop-staff", "chat"]
        (expected.disconnectSeconds, expected.listens, expected.waitingRequests) = (5, 10, 20)
        (expected.unreadPushes, expected.message, expected.unindexedNodes) = (64 << 10, 1 << 20, 1000)
        expected.listenMemory = 16 << 20
        #expect(read.database == expected)
    }

    @Test func defaultsAreThoseOfTheEmulator() throws {
        let read = try load(#""functions": {}"#)
        #expect(read.listen.database == 9000)
        #expect(read.defaultNamespace == "demo-shop-default-rtdb")
        #expect(read.database == HostConfiguration.Database())
        #expect(read.databaseRules == nil)
    }

    @Test(arguments: [
        (#""databaseRules": "none.json""#, "the file none.json does not exist"),
        (#""database": { "namespaces": ["A"] }"#, "is not a namespace"),
        (#""database": { "namespaces": ["abc-"] }"#, "is not a namespace"),
        (#""database": { "namespaces": ["chat", "chat"] }"#, "is written twice"),
        (#""database": { "listens": 0 }"#, "database.listens: 0 is not a number of listens"),
        (#""database": { "message": "1KiB" }"#, "is not an amount of memory"),
        (#""database": { "listenMemory": "1MiB" }"#, "is not an amount of memory"),
        (#""database": { "listen": 5 }"#, "did you mean \"listens\"?"),
        (#""listen": { "database": 8080 }"#, "8080 is also the port of"),
    ]) func whatIsWrongIsNamed(keys: String, message: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try load(keys) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }
}
