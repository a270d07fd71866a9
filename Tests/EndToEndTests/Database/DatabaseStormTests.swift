import Foundation
import Synchronization
import TestSupport
import Testing

/// Clients write to the Realtime Database while the host is killed again and again: nothing that was acknowledged is lost, no
/// update is there by half, and an index finds what there is.
///
/// `SOAK_SECONDS` makes the storm longer, `SOAK_SEED` repeats one.
@Suite struct DatabaseStormTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 6
    private static let writers = 4
    private static let owner = ["Authorization": "Bearer owner"]
    private static let rules = #"{"rules": {".read": false, ".write": false, "notes": {".indexOn": ["n"]}}}"#

    @Test(.endsHangs(afterWorking: seconds))
    func killsLoseNoWriteAndHalveNone() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        print("the database storm's seed is \(seed)")
        let host = try await MortalHost([.fixture])
        let uploaded = try await host.current.database.send(
            "PUT", "/.settings/rules.json", headers: Self.owner, Self.rules)
        #expect(uploaded.status == 200)
        let storm = Storm()
        let end = ContinuousClock.now + .seconds(Self.seconds)
        let (kills, acknowledged) = try await withThrowingTaskGroup(of: Set<String>.self) { group in
            for number in 0..<Self.writers {
                group.addTask {
                    var written: Set<String> = []
                    var step = 0
                    while !storm.isOver.load(ordering: .relaxed) || written.isEmpty, !Task.isCancelled {
                        step += 1
                        let name = "w\(number)s\(step)"
                        // Each is written twice and counted, in one commit.
                        let answer = try? await host.current.database.send(
                            "PATCH", "/.json", headers: Self.owner,
                            #"{"notes/\#(name)":{"n":\#(step)},"copies/\#(name)":{"n":\#(step)},"#
                                + #""count":{".sv":{"increment":1}}}"#)
                        if answer?.status == 200 {
                            written.insert(name)
                        } else {
                            try? await Bound.pause(milliseconds: 20)
                        }
                    }
                    return written
                }
            }
            var random = SeededGenerator(seed: seed)
            var kills = 0
            while ContinuousClock.now < end || kills == 0 {
                try await Bound.pause(milliseconds: Int64.random(in: 50...800, using: &random))
                try await host.dieAndReturn {}
                kills += 1
            }
            storm.isOver.store(true, ordering: .relaxed)
            return (kills, try await group.reduce(into: Set()) { $0.formUnion($1) })
        }
        func read(_ path: String) async throws -> JSON {
            let answer = try await host.current.database.send("GET", path, headers: Self.owner)
            #expect(answer.status == 200, "\(answer.text)")
            return answer.json
        }
        let (notes, copies) = (try await read("/notes.json"), try await read("/copies.json"))
        let names = Set(notes.keys)
        #expect(acknowledged.isSubset(of: names), "\(acknowledged.subtracting(names)) are lost")
        #expect(Set(copies.keys) == names)
        #expect(try await read("/count.json").integer == names.count)
        let indexed = try await read("/notes.json?orderBy=%22n%22&startAt=1")
        #expect(Set(indexed.keys) == names)
        let checked = try await host.current.command(["data", "check"])
        #expect(checked.status == 0, "\(checked.output)")
        print("\(names.count) updates through \(kills) kills")
        try await host.end()
    }
}

/// Goes on until it is over.
private final class Storm: Sendable {
    let isOver = Atomic(false)
}
