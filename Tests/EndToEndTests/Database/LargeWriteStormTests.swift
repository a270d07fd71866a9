import Foundation
import TestSupport
import Testing

/// Values that are too large to be held are written while the host is killed: each is there as a whole or not at all.
///
/// `SOAK_ROUNDS` kills more often, `SOAK_SEED` repeats the moments as well as moments can be.
@Suite struct LargeWriteStormTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = environment["SOAK_ROUNDS"].flatMap { Int($0) } ?? 3

    /// Writes one value after the other to the same place.
    private struct Writer: StormClient {
        let name = "writer"
        let storm: ConnectionsStorm
        private(set) var acknowledged = 0
        private(set) var sent = 0

        init(_ storm: ConnectionsStorm) { self.storm = storm }

        /// 9.2 MB with the number in each child.
        static func value(_ number: Int) -> String {
            let text = String(repeating: "\(number % 10)", count: 15_000)
            let children = (0..<600).map { "\"k\(1_000 + $0)\":{\"n\":\(number),\"t\":\"\(text)\"}" }
            return "{\(children.joined(separator: ","))}"
        }

        mutating func act() async throws -> Bool {
            sent += 1
            do {
                let answer = try await storm.host.current.database.send(
                    "PUT", "/large.json?print=silent", headers: ConnectionsStorm.owner, Self.value(sent))
                #expect(answer.status == 204 || answer.status == 503, "\(answer.text.prefix(200))")
                guard answer.status == 204 else { return false }
                acknowledged = sent
                return true
            } catch {
                try Task.checkCancellation()
                try await Bound.pause(milliseconds: 5)
                return false
            }
        }

        func check() async throws {
            let answer = try await storm.host.current.database.send(
                "GET", "/large.json", headers: ConnectionsStorm.owner)
            let possible = acknowledged...max(sent, acknowledged)
            #expect(
                possible.contains { $0 == 0 ? answer.text == "null" : answer.text == Self.value($0) },
                "what is stored is none of \(possible): \(answer.text.prefix(100))")
        }
    }

    @Test(.endsHangs(afterWorking: 10 * rounds))
    func aLargeValueIsThereAsAWholeOrNotAtAll() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...9_999_999)
        print("the large values' seed is \(seed)")
        var random = SeededGenerator(seed: seed)
        let storm = ConnectionsStorm(try await .withDatabasePort(disconnectSeconds: 60))
        var writer = Writer(storm)
        for _ in 1...Self.rounds {
            let now = writer
            storm.begin()
            async let writers = storm.run([now])
            try await storm.waitForActs(of: 1)
            try await Bound.pause(milliseconds: Int64.random(in: 0...1_000, using: &random))
            try await storm.host.dieAndReturn {}
            storm.pause()
            writer = try await writers[0]
            try await writer.check()
        }
        let checked = try await storm.host.current.command(["data", "check"])
        #expect(checked.status == 0, "\(checked.output)")
        try await storm.host.end()
        print("\(writer.acknowledged) large values through \(Self.rounds) kills")
    }
}
