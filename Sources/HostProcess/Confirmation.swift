import Synchronization

/// The decision on a question to the operator: the answer, or a signal instead of it. The first of them counts.
///
///                 the answer
///     asked ──────────────────────▶ agreed: a later signal ends the command at once
///       │                └────────▶ refused: a later signal is ignored, the command ends as it is
///       └───────── a signal ──────▶ refused
package final class Confirmation: Sendable {
    private enum State {
        case asked, agreed, refused
    }

    /// What a signal has to do.
    package enum Interruption: Equatable, Sendable {
        /// The signal is the answer: it has to do what a refusal does, and to end the command.
        case refuses
        /// The command is to end: what was agreed to goes on without it.
        case ends
        /// The command is refusing already.
        case none
    }

    private let state = Mutex(State.asked)

    package init() {}

    /// - Returns: whether the answer counts. If it doesn't, a signal has come before it and ends the command.
    package func answer(_ agrees: Bool) -> Bool {
        state.withLock { state in
            guard case .asked = state else { return false }
            state = agrees ? .agreed : .refused
            return true
        }
    }

    package func interrupt() -> Interruption {
        state.withLock { state in
            switch state {
            case .asked:
                state = .refused
                return .refuses
            case .agreed: return .ends
            case .refused: return .none
            }
        }
    }
}
