import DocumentModel
import FunctionsRuntime
import Testing
import WorkerProtocol

/// The codes of what handlers throw.
@Suite struct FailureCodeTests {
    /// A client that leaves isn't a failure that the log has to report.
    @Test func whatFailsBecauseTheHandlerWasCancelledIsCancelled() {
        let refused = DocumentError(.cancelled, "the invocation is over")
        #expect(InvocationFailure(refused, isCancelled: true).code == .cancelled)
        #expect(InvocationFailure(CancellationError(), isCancelled: true).code == .cancelled)
        #expect(InvocationFailure(refused, isCancelled: false).code == .internal)
        #expect(InvocationFailure(DocumentError(.notFound, "gone"), isCancelled: true).code == .internal)
    }
}
