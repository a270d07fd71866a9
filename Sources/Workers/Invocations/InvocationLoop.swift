package import WorkerProtocol
package import NIOCore

/// The invocations of one event loop, by ID. It owns each from its admission to its end, and checks its deadline.
///
/// A connection, its invocations and the links they use stay on one loop, so that a call changes no thread.
///
/// `@unchecked Sendable`: all members except the constants are used on `eventLoop` only.
package final class InvocationLoop: @unchecked Sendable {
    let index: Int
    package let eventLoop: any EventLoop
    private let idSource: InvocationIDSource
    private var invocations: [UInt64: Invocation] = [:]
    private var isSweeping = false
    /// Calls that were answered and aren't logged yet.
    private var records: [CallRecord] = []

    private static let recordInterval = TimeAmount.milliseconds(50)
    private static let maxRecords = 4096

    /// The interval at which deadlines are checked: an answer is at most this late.
    private static let sweepInterval = TimeAmount.milliseconds(10)

    package init(index: Int, eventLoop: any EventLoop, idSource: InvocationIDSource) {
        self.index = index
        self.eventLoop = eventLoop
        self.idSource = idSource
    }

    /// Whether a client waits for an answer.
    package var isBusy: Bool { invocations.values.contains { $0.isWanted } }

    func nextID() -> UInt64 { idSource.next() }

    subscript(_ id: UInt64) -> Invocation? { invocations[id] }

    /// The invocations that a link carries, the latest first.
    func carried(by link: WorkerLink) -> [Invocation] {
        invocations.values.filter { $0.link === link }.sorted { $0.id > $1.id }
    }

    func add(_ invocation: Invocation) {
        invocations[invocation.id] = invocation
        sweepRegularly()
    }

    func remove(_ invocation: Invocation) { invocations[invocation.id] = nil }

    /// Fails all running invocations when the host stops.
    package func failAll(_ failure: InvocationFailure) {
        for invocation in Array(invocations.values) {
            invocation.stop(failure, .shutdown, giveUpAt: eventLoop.now + Invocation.overdueGrace)
        }
    }

    // MARK: The log

    /// Keeps a record until some are passed on together: waking the log's thread for each call would cost more than the
    /// rest of it.
    func log(_ record: CallRecord, _ services: InvocationServices) {
        if records.isEmpty {
            eventLoop.scheduleTask(in: Self.recordInterval) { self.passOnRecords(services) }
        }
        records.append(record)
        if records.count >= Self.maxRecords { passOnRecords(services) }
    }

    package func passOnRecords(_ services: InvocationServices) {
        guard !records.isEmpty else { return }
        services.recordCalls?(records, eventLoop.now)
        records = []
        records.reserveCapacity(Self.maxRecords)
    }

    // MARK: Deadlines

    private func sweepRegularly() {
        guard !isSweeping else { return }
        isSweeping = true
        eventLoop.scheduleTask(in: Self.sweepInterval) {
            self.isSweeping = false
            self.sweep(now: self.eventLoop.now)
            if !self.invocations.isEmpty { self.sweepRegularly() }
        }
    }

    private func sweep(now: NIODeadline) {
        var due: [(invocation: Invocation, due: Invocation.Due)] = []
        for invocation in invocations.values {
            if let what = invocation.due(at: now) { due.append((invocation, what)) }
        }
        guard !due.isEmpty else { return }
        // Newest first: a recalled invocation goes to the head of the queue, so the oldest ends up first.
        for (invocation, what) in due.sorted(by: { $0.invocation.id > $1.invocation.id }) { invocation.handle(what) }
    }
}
