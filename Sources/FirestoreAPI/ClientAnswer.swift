import DocumentModel
import Sharing
import Synchronization

/// What one request holds of the memory of all answers, until its answer is sent: the documents of the answer, and those
/// that the request itself has.
final class ClientAnswer: AnswerBytes {
    private struct State {
        var holder: MemoryBudget.Holder
        /// All that the answer has, and what of it was taken from the budget.
        var bytes = 0
        var held = 0
    }

    private let budget: MemoryBudget?
    private let state: Mutex<State>

    /// Answers up to this size aren't counted: the socket's buffer takes most of them at once.
    static let leastBytes = 64 * 1024

    /// - Parameter budget: nil for no bound.
    init(_ budget: MemoryBudget?, for holder: MemoryBudget.Holder) {
        self.budget = budget
        state = Mutex(State(holder: holder))
    }

    deinit { release() }

    /// Nothing of it is held any more.
    func release() {
        let (held, holder) = state.withLock { state in
            defer { (state.bytes, state.held) = (0, 0) }
            return (state.held, state.holder)
        }
        budget?.release(held, of: holder)
    }

    /// The answer's request is known to be the holder's. Call before anything is taken.
    func identify(_ holder: MemoryBudget.Holder) { state.withLock { $0.holder = holder } }

    func take(_ bytes: Int) throws(DocumentError) {
        guard let budget else { return }
        let isTaken = state.withLock { state in
            state.bytes += bytes
            guard state.bytes > Self.leastBytes else { return true }
            guard budget.take(state.bytes - state.held, for: state.holder) else { return false }
            state.held = state.bytes
            return true
        }
        guard isTaken else { throw Self.tooMuch }
    }

    static let tooMuch = DocumentError(
        .resourceExhausted,
        "too much is held for this caller, or for all: large requests under way, and answers that wait to be received; "
            + "read them, and ask for less at a time")
}
