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

    /// What each commit changed that happened after one time and up to another.
    package func commits(after: Timestamp, upTo last: Timestamp) -> [ModelCommit] {
        zip(states, states.dropFirst()).filter { after < $1.time && $1.time <= last }.map { earlier, later in
            ModelCommit(time: later.time, changes: later.state.changes(since: earlier.state))
        }
    }

    /// Drops states that won't be read any more.
    package mutating func forget(before time: Timestamp) {
        guard let first = states.lastIndex(where: { $0.time <= time }) else { return }
        states.removeFirst(first)
    }
}

/// One commit that changed something.
package struct ModelCommit: Hashable, Sendable {
    package var time: Timestamp
    /// Of each document once, by path.
    package var changes: [ModelChange]

    package init(time: Timestamp, changes: [ModelChange]) {
        self.time = time
        self.changes = changes
    }
}
