import Synchronization

/// What one operation may hold of answers' text, out of the room that all have together.
///
/// Most answers are small, so that each operation has room for a small one from the start. What grows beyond that takes
/// more while more is free; where none is, its transfer is given up and asked for again once there is room for the
/// largest, so that those that are half there never wait for each other.
final class AnswerRoom: Sendable {
    /// That of the operation that is under way.
    @TaskLocal static var current: AnswerRoom?

    /// All answers that are held: a container may have 512 MiB, and an answer that is taken apart needs several times its
    /// text.
    static let total = 32 * 1024 * 1024
    /// 128 operations side by side.
    static let step = 256 * 1024

    private let room: FairRoom
    private let held = Mutex(0)

    init(in room: FairRoom) { self.room = room }

    /// Waits until an answer of this size has room.
    ///
    /// - Returns: false where the task is cancelled.
    func wait(for bytes: Int) async -> Bool {
        giveBack()
        guard await room.take(bytes) else { return false }
        held.withLock { $0 = bytes }
        return true
    }

    /// Has room for an answer that has grown to this size.
    ///
    /// - Parameter isNeeded: takes what isn't free too: the answer can't be asked for a second time.
    func grow(to bytes: Int, isNeeded: Bool) -> Bool {
        held.withLock { held in
            guard bytes > held else { return true }
            let more = (bytes - held + Self.step - 1) / Self.step * Self.step
            if !room.takeNow(more) {
                guard isNeeded else { return false }
                room.takeAnyway(more)
            }
            held += more
            return true
        }
    }

    /// The answer was handed on.
    func giveBack() {
        let bytes = held.withLock { held in
            defer { held = 0 }
            return held
        }
        if bytes > 0 { room.give(bytes) }
    }
}
