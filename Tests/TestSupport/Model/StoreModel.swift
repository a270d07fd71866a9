package import DocumentModel

/// A store as an outsider knows it: each state that it ever had, by its time.
package struct StoreModel: Sendable {
    /// In order of time; the first is the empty store.
    private var states: [(time: Timestamp, state: ModelState)]

    package init(at time: Timestamp) { states = [(time, ModelState())] }

    package var current: ModelState { states[states.count - 1].state }

    /// The time of the last commit that changed something.
    package var time: Timestamp { states[states.count - 1].time }

    /// The times of all commits.
    package var times: [Timestamp] { states.map(\.time) }

    /// The state after all commits up to a time; nil before the first.
    package func state(at time: Timestamp) -> ModelState? { states.last { $0.time <= time }?.state }

    package mutating func become(_ state: ModelState, at time: Timestamp) { states.append((time, state)) }

    /// Lets go of states that nobody will ask for.
    package mutating func forget(before time: Timestamp) {
        guard let first = states.lastIndex(where: { $0.time <= time }) else { return }
        states.removeFirst(first)
    }
}
