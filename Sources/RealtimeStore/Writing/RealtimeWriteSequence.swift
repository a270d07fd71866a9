import Synchronization

/// Keeps the writes of one connection in their order, whichever of their checks on readers' threads ends first.
package final class RealtimeWriteSequence: Sendable {
    private struct State {
        var next = 0
        /// The number of the write that is submitted next.
        var head = 0
        /// Those whose checks have ended, but not those before them.
        var ready: [Int: @Sendable () -> Void] = [:]
        var isSubmitting = false
        /// Those that were submitted, and have returned. Until they have run, none after them runs.
        var returned: Set<Int> = []
        /// Those of them that wait for ones before them.
        var waiting: [Int: @Sendable () -> Void] = [:]

        func hasTurn(_ number: Int) -> Bool { returned.isEmpty || returned.allSatisfy { number <= $0 } }
    }

    private let state = Mutex(State())

    package init() {}

    /// A place for a write, after all that have one. Something must be submitted at it.
    package func reserve() -> Int {
        state.withLock { state in
            state.next += 1
            return state.next - 1
        }
    }

    /// Submits a write once those before it have been submitted.
    package func submit(_ number: Int, _ submit: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.ready[number] = submit
            // Else the thread that is submitting takes it.
            guard !state.isSubmitting else { return false }
            state.isSubmitting = true
            return true
        }
        guard isFirst else { return }
        while let next = take() { next() }
    }

    private func take() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let next = state.ready.removeValue(forKey: state.head) else {
                state.isSubmitting = false
                return nil
            }
            state.head += 1
            return next
        }
    }

    // MARK: What returns

    fileprivate func hasTurn(_ number: Int) -> Bool { state.withLock { $0.hasTurn(number) } }

    fileprivate func hold(_ number: Int) { state.withLock { _ = $0.returned.insert(number) } }

    fileprivate func wait(_ number: Int, _ submit: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard !state.hasTurn(number) else { return false }
            state.returned.insert(number)
            state.waiting[number] = submit
            return true
        }
    }

    fileprivate func finish(_ number: Int) {
        let waiting = state.withLock { state in
            state.returned.remove(number)
            defer { state.waiting = [:] }
            return state.waiting.sorted { $0.key < $1.key }.map(\.value)
        }
        for submit in waiting { submit() }
    }
}

/// The turn of a write in a sequence.
struct RealtimeWriteTurn: Sendable {
    private let sequence: RealtimeWriteSequence
    private let place: Int

    /// - Parameter place: one that was reserved before; nil for the next.
    init(in sequence: RealtimeWriteSequence, at place: Int? = nil) {
        self.sequence = sequence
        self.place = place ?? sequence.reserve()
    }

    /// Submits the write once those before it have been submitted.
    func submit(_ submit: @escaping @Sendable () -> Void) { sequence.submit(place, submit) }

    /// Whether none of those before it, which were submitted, has returned.
    var hasCome: Bool { sequence.hasTurn(place) }

    /// The write, which was submitted, returns. Those after it don't run until ``finish()``.
    func hold() { sequence.hold(place) }

    /// The write, which was submitted, returns because one before it has.
    ///
    /// - Parameter submit: called when it is to be submitted again.
    /// - Returns: false if its turn has come.
    func wait(_ submit: @escaping @Sendable () -> Void) -> Bool { sequence.wait(place, submit) }

    /// The write, which had returned, has run. Those that wait are submitted again.
    func finish() { sequence.finish(place) }
}
