import DocumentModel
import HostProcess
import OutboundHTTP
@testable import RealtimeDatabaseClient
import TestSupport
import Testing
import WorkerProtocol

/// Which databases the environment selects, and their addresses.
@Suite struct DatabaseLocationTests {
    private func address(_ environment: [String: String], instance: String = "") async throws -> String {
        let script = ScriptedDatabase([.json("null")])
        let tokens = ScriptedDatabase([.json(#"{"access_token":"access","expires_in":3600}"#), .json("null")])
        let isEmulator = environment["FIREBASE_DATABASE_EMULATOR_HOST"] != nil
        let transport = isEmulator ? script : tokens
        let backend = try RemoteDatabases.fromEnvironment(
            project: "shop", environment: environment, transport: transport, streams: script, pause: { _ in })
        let databases = try #require(backend as? RemoteDatabases)
        _ = try await databases.send(DatabaseRequest(.get, instance: instance, target: "a/b c"))
        #expect(transport.seen.last?.headers["Authorization"] == (isEmulator ? "Bearer owner" : "Bearer access"))
        return try #require(transport.addresses.last)
    }

    @Test(.endsHangs) func anEmulatorHasAllDatabasesAtOneAddress() async throws {
        let emulator = ["FIREBASE_DATABASE_EMULATOR_HOST": "127.0.0.1:9000"]
        let path = "http://127.0.0.1:9000/a/b%20c.json"
        #expect(try await address(emulator) == path + "?ns=shop-default-rtdb&format=export")
        #expect(try await address(emulator, instance: "Staff") == path + "?ns=staff&format=export")
        let named = emulator.merging(["DATABASE_URL": "https://own.firebaseio.com"]) { $1 }
        #expect(try await address(named) == path + "?ns=own&format=export")
    }

    @Test(.endsHangs) func eachDatabaseOfGooglesHasItsHost() async throws {
        let config = ["FIREBASE_CONFIG": #"{"databaseURL":"https://own.europe-west1.firebasedatabase.app/"}"#]
        let path = "/a/b%20c.json?format=export"
        #expect(try await address(config) == "https://own.europe-west1.firebasedatabase.app" + path)
        #expect(
            try await address(config, instance: "staff") == "https://staff.europe-west1.firebasedatabase.app" + path)
        let url = ["FIREBASE_CONFIG": #"{"projectId":"shop"}"#, "DATABASE_URL": "https://own.firebaseio.com"]
        #expect(try await address(url) == "https://own.firebaseio.com" + path)
    }

    @Test(.endsHangs) func anotherHostHasItsDatabasesAtOneAddress() async throws {
        let path = "https://db.test:8443/a/b%20c.json"
        #expect(
            try await address(["DATABASE_URL": "https://db.test:8443"]) == path + "?ns=shop-default-rtdb&format=export")
        #expect(try await address(["DATABASE_URL": "https://db.test:8443/?ns=own"]) == path + "?ns=own&format=export")
    }

    @Test(.endsHangs) func withoutAnAddressOnlyItsUseFails() async throws {
        let backend = try RemoteDatabases.fromEnvironment(
            project: "shop", environment: [:], transport: ScriptedDatabase([]), streams: ScriptedDatabase([]),
            pause: { _ in })
        let result = await withCheckedContinuation { continuation in
            backend.perform(DatabaseRequest(.get), in: OperationContext()) { continuation.resume(returning: $0) }
        }
        guard case .failure(let error) = result else {
            Issue.record("an answer")
            return
        }
        #expect(error.code == .failedPrecondition)
        #expect(error.message.contains("DATABASE_URL") && error.message.contains("FIREBASE_DATABASE_EMULATOR_HOST"))
    }

    @Test(arguments: [
        ("FIREBASE_DATABASE_EMULATOR_HOST", "http://127.0.0.1:9000"), ("DATABASE_URL", "own.firebaseio.com"),
        ("DATABASE_URL", "http://own.firebaseio.com"), ("DATABASE_URL", "https://a@own.firebaseio.com"),
        ("DATABASE_URL", "https://own.firebaseio.com/a"), ("DATABASE_URL", "https://db.test?ns=a/b"),
        ("FIREBASE_CONFIG", "{"), ("FIREBASE_CONFIG", "/nowhere/config.json"),
        ("FIREBASE_CONFIG", #"{"databaseURL":"ftp://own.firebaseio.com"}"#),
    ])
    func aVariableThatCantBeUsedIsNamed(name: String, value: String) {
        let error = #expect(throws: HostError.self) {
            try RemoteDatabases.fromEnvironment(
                project: "shop", environment: [name: value], transport: ScriptedDatabase([]),
                streams: ScriptedDatabase([]), pause: { _ in })
        }
        #expect(error.map { "\($0)" }?.contains(name) == true)
    }

    /// The name becomes a part of the host that receives the access token.
    @Test(arguments: ["a.b", "evil.test/", "a#", "ä", String(repeating: "a", count: 101)])
    func aNameThatCantBeIsRefused(name: String) async throws {
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]))
        let error = await failure { () throws(DocumentError) in
            try await databases.send(DatabaseRequest(.get, instance: name))
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func onlyGooglesServersAndTheOwnAreTrusted() throws {
        let google = try DatabaseLocation(url: RemoteDatabases.url, from: "DATABASE_URL", own: "own")
        #expect(google.trusts(redirectTo: "https://s-usc1c-nss-200.firebaseio.com/a.json?ns=demo"))
        #expect(google.trusts(redirectTo: "https://demo.asia-southeast1.firebasedatabase.app/a.json"))
        for address in [
            "http://demo.firebaseio.com/a.json", "https://firebaseio.com.evil.test/", "https://evilfirebaseio.com/",
            "https://u@demo.firebaseio.com/", "https://demo.firebaseio.com:8443/", "/a.json", "",
        ] { #expect(!google.trusts(redirectTo: address), "\(address)") }
        let other = DatabaseLocation(emulator: "127.0.0.1:9000", own: "own")
        #expect(other.trusts(redirectTo: "http://127.0.0.1:9000/b.json"))
        #expect(!other.trusts(redirectTo: "http://127.0.0.1:90001/b.json"))
    }
}
