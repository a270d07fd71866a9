import DocumentModel
import Sharing
import Synchronization
package import WorkerProtocol

/// What invocations share: what their operations are performed on, the memory for these, and whether the host is stopping.
package final class InvocationServices: Sendable {
    let backends: FunctionBackends
    package let operationBytes: OperationBytes
    /// For frames of workers that aren't whole.
    let frameBytes = IncomingFrame.budget()
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
        _ backends: FunctionBackends,
        limits: HostLimits = HostLimits(),
        decodeLarge: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { decoder.add($0) },
        recordCalls: CallRecorder? = nil, recordsAllCalls: Bool = true
    ) {
        self.recordCalls = recordCalls
        self.recordsAllCalls = recordsAllCalls
        self.backends = backends
        self.decodeLarge = decodeLarge
        operationBytes = OperationBytes(worker: limits.workerBytes, all: limits.allWorkersBytes)
    }

    package var isStopping: Bool { stopping.load(ordering: .relaxed) }

    package func beginStopping() { stopping.store(true, ordering: .relaxed) }
}
