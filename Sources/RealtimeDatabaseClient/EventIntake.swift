import DatabaseObservations
import DocumentModel
import Synchronization

/// The bytes of one stream that have arrived and aren't handled yet. They count as the observation's memory.
final class EventIntake: Sendable {
    private struct State {
        var held = 0
        var isOpen = true
    }

    private let observation: Observation
    private let state = Mutex(State())

    init(_ observation: Observation) { self.observation = observation }

    /// - Returns: false if the stream isn't wanted any more, or is too large for the observation, which ends then.
    func take(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard state.isOpen else { return false }
            do throws(DocumentError) {
                try observation.hold(bytes)
            } catch {
                observation.fail(error)
                return false
            }
            state.held += bytes
            return true
        }
    }

    /// Hands on what an event sets, in place of its bytes.
    func handOn(_ settings: [ReferenceChange.Setting], ofBytes bytes: Int) {
        state.withLock { $0.held -= bytes }
        observation.receive(settings, holding: bytes)
    }

    /// Gives up what hasn't been handled.
    func close() {
        let held = state.withLock { state in
            defer { state = State(held: 0, isOpen: false) }
            return state.held
        }
        observation.receive([], holding: held)
    }
}
