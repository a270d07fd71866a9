import DocumentModel
import DocumentStore
package import WorkerProtocol

extension DeliveryFailure {
    /// An attempt that the handler failed, as stored with its delivery.
    package init(_ failure: InvocationFailure) {
        self.init("\(failure.code.wireName): \(failure.message)", status: failure.code.httpStatus)
    }
}
