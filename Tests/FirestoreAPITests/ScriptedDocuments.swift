import DocumentModel
import Synchronization

/// A document service that expects certain requests in order, and returns their scripted responses.
final class ScriptedDocuments: DocumentService {
    struct Step: Sendable {
        var request: DocumentRequest
        var principal: Principal
        var response: DocumentResponse

        init(_ request: DocumentRequest, as principal: Principal = .admin, _ response: DocumentResponse) {
            self.request = request
            self.principal = principal
            self.response = response
        }
    }

    private let steps: Mutex<[Step]>
    private let unexpected = Mutex<[DocumentRequest]>([])
    private let cleared = Mutex(0)
    private let collections: [String]

    init(_ steps: [Step] = [], collections: [String] = []) {
        self.steps = Mutex(steps)
        self.collections = collections
    }

    var clearCount: Int { cleared.withLock { $0 } }

    var isDone: Bool { steps.withLock { $0.isEmpty } && unexpected.withLock { $0.isEmpty } }

    func perform(_ request: DocumentRequest, as principal: Principal) async -> DocumentResponse {
        let step = steps.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let step, step.request == request, step.principal == principal else {
            unexpected.withLock { $0.append(request) }
            return .failed(DocumentError(.internal, "unexpected: \(request) as \(principal)"))
        }
        return step.response
    }

    func collectionIDs(below parent: DocumentPath?, as principal: Principal) async throws(DocumentError) -> [String] {
        guard principal == .admin else { throw DocumentError(.permissionDenied, "not for clients") }
        return collections
    }

    func clear() async throws(DocumentError) { cleared.withLock { $0 += 1 } }
}
