package import DocumentModel
import Sharing
import Synchronization
package import UserModel

/// What invocations share: the documents, the users, the memory for their operations, and whether the host is stopping.
package final class InvocationServices: Sendable {
    let documents: any DocumentBackend
    let users: any UserBackend
    package let operationBytes: OperationBytes
    package let calls = CallMetrics()
    /// Nil if no calls are logged.
    let recordCalls: CallRecorder?
    /// Whether each call is recorded; otherwise only those whose deadline passed.
    let recordsAllCalls: Bool
    /// Runs what decodes a large operation: not on a loop, and one at a time for all workers, since some MiB keep a thread
    /// busy for a tenth of a second.
    let decodeLarge: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let stopping = Atomic<Bool>(false)

    private static let decoder = LongWork("workers.large-operations")

    package init(
        documents: any DocumentBackend, users: any UserBackend = UnavailableUsers("there are no users here"),
        limits: HostLimits = HostLimits(),
        decodeLarge: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { decoder.add($0) },
        recordCalls: CallRecorder? = nil, recordsAllCalls: Bool = true
    ) {
        self.recordCalls = recordCalls
        self.recordsAllCalls = recordsAllCalls
        self.documents = documents
        self.users = users
        self.decodeLarge = decodeLarge
        operationBytes = OperationBytes(worker: limits.workerBytes, all: limits.allWorkersBytes)
    }

    package var isStopping: Bool { stopping.load(ordering: .relaxed) }

    package func beginStopping() { stopping.store(true, ordering: .relaxed) }
}
