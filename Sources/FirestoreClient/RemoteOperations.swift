package import Sharing
import Synchronization

/// The operations in progress, by the invocation that owns them.
package final class RemoteOperations: Sendable {
    private struct Owner {
        /// Slots for the owner's requests.
        let slots = AsyncSemaphore(RemoteOperations.maxRequests)
        var tasks: [Int: Task<Void, Never>] = [:]
    }

    private struct State {
        var lastNumber = 0
        var owners: [UInt64: Owner] = [:]
    }

    /// How many requests one invocation may have in progress; further ones wait. All functions share the connections.
    static let maxRequests = 16

    private let state = Mutex(State())

    package init() {}

    /// The number of invocations that have operations in progress.
    var ownerCount: Int { state.withLock { $0.owners.count } }

    /// Runs an operation for an owner, until ``cancel(owner:)``.
    package func run(for owner: UInt64, _ body: @escaping @Sendable (AsyncSemaphore) async -> Void) {
        state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            var known = state.owners[owner] ?? Owner()
            let slots = known.slots
            known.tasks[number] = Task {
                await body(slots)
                self.ended(number, for: owner)
            }
            state.owners[owner] = known
        }
    }

    package func cancel(owner: UInt64) {
        let tasks = state.withLock { $0.owners[owner].map { Array($0.tasks.values) } ?? [] }
        for task in tasks { task.cancel() }
    }

    private func ended(_ number: Int, for owner: UInt64) {
        state.withLock { state in
            state.owners[owner]?.tasks[number] = nil
            if state.owners[owner]?.tasks.isEmpty ?? false { state.owners[owner] = nil }
        }
    }
}
