import DocumentModel
import DocumentStore
package import WorkerProtocol

extension DeliveryFailure {
    /// A try that a handler has failed, as its delivery keeps it.
    package init(_ failure: InvocationFailure) {
        self.init("\(failure.code.wireName): \(failure.message)", status: failure.code.httpStatus)
    }
}
