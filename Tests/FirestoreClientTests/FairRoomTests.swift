@testable import FirestoreClient
import Testing

/// Who gets room when, and what becomes of those who leave.
struct FairRoomTests {
    private func waiting(_ count: Int, in room: FairRoom) async {
        while room.waiting < count { await Task.yield() }
    }

    @Test(.timeLimit(.minutes(1))) func roomIsGivenInTheOrderOfAsking() async {
        let room = FairRoom(10)
        #expect(await room.take(6))
        async let large = room.take(10)
        await waiting(1, in: room)
        async let small = room.take(1)
        await waiting(2, in: room)
        // There is enough for the second, who waits behind the first.
        #expect(room.free == 4)
        room.give(6)
        #expect(await large)
        #expect(room.waiting == 1)
        room.give(10)
        #expect(await small)
        #expect(room.free == 9)
    }

    @Test(.timeLimit(.minutes(1))) func whoLeavesLetsThoseBehindIn() async {
        let room = FairRoom(10)
        #expect(await room.take(6))
        let large = Task { await room.take(10) }
        await waiting(1, in: room)
        async let small = room.take(4)
        await waiting(2, in: room)
        large.cancel()
        #expect(await large.value == false)
        #expect(await small)
        #expect(room.free == 0)
    }

    @Test func anAnswerTakesMoreWhileMoreIsFree() async {
        let all = FairRoom(3 * AnswerRoom.step)
        let (one, other) = (AnswerRoom(in: all), AnswerRoom(in: all))
        #expect(await one.wait(for: AnswerRoom.step))
        #expect(await other.wait(for: AnswerRoom.step))
        #expect(one.grow(to: AnswerRoom.step, isNeeded: false))
        #expect(all.free == AnswerRoom.step)
        #expect(one.grow(to: AnswerRoom.step + 1, isNeeded: false))
        #expect(all.free == 0)
        #expect(!other.grow(to: AnswerRoom.step + 1, isNeeded: false))
        #expect(other.grow(to: AnswerRoom.step + 1, isNeeded: true))
        one.giveBack()
        other.giveBack()
        #expect(all.free == 3 * AnswerRoom.step)
    }
}
