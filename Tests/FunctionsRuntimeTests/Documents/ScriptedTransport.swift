import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Synchronization

/// Answers each operation with the next step of a script, and keeps what was asked.
final class ScriptedTransport: DocumentTransport {
    let database = DatabaseID(project: "demo-test")
    let now = DocumentResponse.time
    private let script: Mutex<[DocumentResponse]>
    private let seen = Mutex<[DocumentRequest]>([])

    private let toRollback: DocumentResponse

    let beginsWithReads: Bool

    init(_ script: [DocumentResponse] = [], toRollback: DocumentResponse = .rolledBack, beginsWithReads: Bool = false) {
        self.script = Mutex(script)
        self.beginsWithReads = beginsWithReads
        self.toRollback = toRollback
    }

    var requests: [DocumentRequest] { seen.withLock { $0 } }

    /// A rollback is answered off the script: it may come at any time.
    func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
        seen.withLock { $0.append(request) }
        if case .rollback = request { return toRollback }
        let response: DocumentResponse = script.withLock { script in
            script.isEmpty ? .failed(DocumentError(.internal, "the script has ended")) : script.removeFirst()
        }
        if case .failed(let error) = response { throw error }
        return response
    }
}

extension DocumentResponse {
    static let aborted = DocumentResponse.failed(DocumentError(.aborted, "a concurrent transaction won"))

    static func began(_ id: UInt64, _ prefetched: [TransactionRead] = []) -> DocumentResponse {
        .began(TransactionID(rawValue: id), prefetched: prefetched)
    }

    static func committed(_ count: Int) -> DocumentResponse {
        let result = WriteResult(updateTime: time, transformResults: [])
        return .committed(CommitResult(commitTime: time, writeResults: Array(repeating: result, count: count)))
    }

    static let time = Timestamp(seconds: 1_767_323_045, nanoseconds: 0)

    static func documents(_ documents: [DocumentModel.Document?]) -> DocumentResponse {
        .documents(documents, readTime: time)
    }
}

func stored(_ path: String, _ fields: [String: Value]) throws -> DocumentModel.Document {
    DocumentModel.Document(
        path: try DocumentPath(path), fields: fields, createTime: DocumentResponse.time,
        updateTime: DocumentResponse.time)
}

extension Value: ExpressibleByIntegerLiteral {
    init(integerLiteral value: Int64) { self = .integer(value) }
}
