import HostTesting
import DocumentModel
import SecurityRules
@testable import FirestoreAPI
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Sharing

/// Sends requests to the REST API of `demo-shop` over a scripted service.
protocol RESTExchanges {}

extension RESTExchanges {
    static var root: String { "/v1/projects/demo-shop/databases/(default)/documents" }
    static var name: String { "projects/demo-shop/databases/(default)/documents" }
    static var time: Timestamp { Timestamp(microseconds: 1_000_001) }
    static var timeText: String { "1970-01-01T00:00:01.000001Z" }

    static func path(_ path: String) throws -> DocumentPath { try DocumentPath(path) }

    static func document(_ path: String, _ fields: [String: Value]) throws -> Document {
        Document(path: try DocumentPath(path), fields: fields, createTime: time, updateTime: time)
    }

    static func json(_ path: String, _ fields: String) -> String {
        "{\"name\":\"\(name)/\(path)\",\"fields\":\(fields),"
            + "\"createTime\":\"\(timeText)\",\"updateTime\":\"\(timeText)\"}"
    }

    static func committed(_ results: WriteResult...) -> ScriptedDocuments.Answer {
        .committed(CommitResult(commitTime: time, writeResults: results))
    }

    func exchange(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil,
        headers: HTTPFields = [.authorization: "Bearer owner"], isDevelopment: Bool = true,
        of service: ScriptedDocuments, rules: ClientRules = ClientRules(.open), answers: MemoryBudget? = nil,
        maxBodyBytes: Int = 4096,
        check: @Sendable (TestResponse) -> Void = { _ in }, pause: @escaping @Sendable () async -> Void = {}
    ) async throws -> RESTAnswer {
        let reader = PrincipalReader(isDevelopment: isDevelopment) { token in
            if token == "down" { throw DocumentError(.unavailable, "no keys") }
            guard token == "ada-token" else { throw CancellationError() }
            return Requester(.client(ClientIdentity(uid: "ada")))
        }
        let rest = DocumentREST(
            database: DatabaseID(project: "demo-shop"), service: service, rules: rules, isDevelopment: isDevelopment,
            principals: reader, answers: answers, maxBodyBytes: maxBodyBytes, pause: pause)
        return try await Application(responder: rest).test(.router) { client in
            let response = try await client.executeRequest(
                uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) })
            check(response)
            return RESTAnswer(status: response.status.code, body: String(buffer: response.body))
        }
    }
}
