import DocumentModel
import FirestoreClient
import OutboundHTTP
@testable import RealtimeDatabaseClient
import Synchronization
import Testing
import WorkerProtocol

/// A service that answers requests in a scripted order, and keeps them.
final class ScriptedDatabase: OutboundTransport {
    enum Step: Sendable {
        case answer(status: Int, headers: [String: String], body: String)
        case failure(OutboundError.Kind)
        /// Sends the pieces of a stream, which then ends; or which stays open until it is cancelled.
        case stream([String], staysOpen: Bool)

        static func json(_ body: String, status: Int = 200, headers: [String: String] = [:]) -> Step {
            .answer(status: status, headers: headers, body: body)
        }

        static let written = Step.answer(status: 204, headers: [:], body: "")
    }

    private let steps: Mutex<ArraySlice<Step>>
    private let requests = Mutex<[OutboundRequest]>([])

    init(_ steps: [Step]) { self.steps = Mutex(steps[...]) }

    var isDone: Bool { steps.withLock { $0.isEmpty } }
    var seen: [OutboundRequest] { requests.withLock { $0 } }
    var addresses: [String] { seen.map(\.address) }

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        requests.withLock { $0.append(request) }
        switch steps.withLock({ $0.popFirst() }) {
        case nil:
            Issue.record("no further request was expected: \(request.address)")
            throw OutboundError(.timedOut, host: "database.test", "unexpected")
        case .answer(let status, let headers, let body)?:
            return OutboundResponse(status: status, headers: headers, body: Array(body.utf8))
        case .failure(let kind)?: throw OutboundError(kind, host: "database.test", "why")
        case .stream(let pieces, let staysOpen)?:
            for piece in pieces {
                guard request.receive?(Array(piece.utf8)) == true else {
                    throw OutboundError(.lost, host: "database.test", "not wanted")
                }
            }
            if staysOpen { for await _ in AsyncStream<Void>.makeStream().stream {} }
            return OutboundResponse(status: 200)
        }
    }
}

extension RemoteDatabases {
    static let url = "https://demo.firebaseio.com"

    /// - Parameter streams: nil if the same script answers streams.
    static func scripted(
        _ script: ScriptedDatabase, streams: ScriptedDatabase? = nil, tokens: AccessTokens? = nil, url: String = url
    ) throws -> RemoteDatabases {
        RemoteDatabases(
            DatabaseService(
                location: try DatabaseLocation(url: url, from: "DATABASE_URL", own: "own"), transport: script,
                streams: streams ?? script, tokens: tokens, pause: { _ in }))
    }

    func send(
        _ request: DatabaseRequest, in context: OperationContext = OperationContext(owner: 1)
    ) async throws(DocumentError) -> DatabaseAnswer {
        let result = await withCheckedContinuation { continuation in
            perform(request, in: context) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}

/// The error of an operation; nil if it has none.
func failure<Answer>(_ operation: () async throws(DocumentError) -> Answer) async -> DocumentError? {
    do throws(DocumentError) {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}
