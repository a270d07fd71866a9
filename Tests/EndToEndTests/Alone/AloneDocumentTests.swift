import Foundation
import TestSupport
import Testing

/// The documents of a standalone bundle.
@Suite(.endsHangs) struct AloneDocumentTests {
    @Test func documentsAreThoseOfTheServiceThatTheEnvironmentNames() async throws {
        try await RunningHost.serving([]) { host in
            let firestore = ["FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(host.firestore.port)"]
            try await RunningBundle.serving(RunningBundle.project.merging(firestore) { $1 }, isSecond: true) { bundle in
                for number in 1...3 {
                    let answer = try await bundle.call("count", #""visits""#)
                    #expect(answer.text == #"{"result":\#(number)}"#)
                }
                let path = "/v1/projects/demo-shop/databases/(default)/documents/counters/visits"
                let document = try await host.firestore.send("GET", path, headers: ["Authorization": "Bearer owner"])
                #expect(document.json["fields"]?["value"]?["integerValue"]?.integer == 3)
            }
        }
    }

    /// Two processes increment the same counter: each sees the other's writes, and retries on a conflict.
    @Test func transactionsOfTwoBundlesLoseNothing() async throws {
        try await RunningHost.serving([]) { host in
            let firestore = ["FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(host.firestore.port)"]
            let environment = RunningBundle.project.merging(firestore) { $1 }
            try await RunningBundle.serving(environment, isSecond: true) { one in
                try await RunningBundle.serving(environment, isSecond: true) { other in
                    let results = try await withThrowingTaskGroup(of: Int?.self) { group in
                        for bundle in [one, other] {
                            group.addTask { try await bundle.call("count", #""hot""#).json["result"]?.integer }
                            group.addTask { try await bundle.call("count", #""hot""#).json["result"]?.integer }
                        }
                        return try await group.reduce(into: [Int?]()) { $0.append($1) }
                    }
                    #expect(Set(results) == [1, 2, 3, 4])
                }
            }
        }
    }
}
