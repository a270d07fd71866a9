import RealtimeModel
import RealtimeTesting
import TestSupport
import Testing

struct RealtimePushIDTests {
    /// Yields the same bits again and again.
    private struct Constant: RandomNumberGenerator {
        var value: UInt64
        mutating func next() -> UInt64 { value }
    }

    @Test func theFirstEightCharactersAreTheTime() {
        var ids = RealtimePushIDs()
        var random = Constant(value: 0)
        #expect(ids.next(now: 0, using: &random).string == "--------------------")
        #expect(ids.next(now: 1, using: &random).string == "-------0------------")
        #expect(ids.next(now: 64, using: &random).string == "------0-------------")
        // 2026-01-01T00:00:00Z, computed apart.
        #expect(ids.next(now: 1_767_225_600_000, using: &random).string == "-OhqqeV-------------")
    }

    @Test func withinAMillisecondTheRandomPartIsIncremented() {
        var ids = RealtimePushIDs()
        var random = Constant(value: .max)
        #expect(ids.next(now: 5, using: &random).string == "-------4zzzzzzzzzzzz")
        // The largest random part has no successor: the next millisecond begins.
        #expect(ids.next(now: 5, using: &random).string == "-------5zzzzzzzzzzzz")
        random = Constant(value: 0)
        #expect(ids.next(now: 7, using: &random).string == "-------6------------")
        #expect(ids.next(now: 7, using: &random).string == "-------6-----------0")
        for _ in 0..<62 { _ = ids.next(now: 7, using: &random) }
        #expect(ids.next(now: 7, using: &random).string == "-------6----------0-")
    }

    @Test func keysAscendAlsoIfTheClockIsSetBack() {
        var ids = RealtimePushIDs()
        var random = SeededGenerator(seed: 1)
        let times: [Int64] = [1000, 1000, 999, 1001, 0, 1001, 1002]
        let created = times.map { ids.next(now: $0, using: &random) }
        #expect(created == created.sorted() && Set(created).count == times.count)
        #expect(created.allSatisfy { RealtimeKey.isValid($0.string) && $0.string.utf8.count == 20 })
    }
}
