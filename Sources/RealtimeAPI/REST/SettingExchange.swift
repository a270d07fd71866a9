import NIOCore
import NIOHTTP1
import RealtimeModel
import Sharing
import StrictJSON

/// An admin's request for a setting of a database, such as its rules.
///
/// It is used on its connection's loop.
final class SettingExchange {
    private let name: String
    private let request: RESTRequest
    private let database: any RealtimeDatabase
    private let connection: RESTConnection
    private var hasLeft = false

    init(
        _ name: String, _ request: RESTRequest, _ database: any RealtimeDatabase, _ connection: RESTConnection
    ) {
        self.name = name
        self.request = request
        self.database = database
        self.connection = connection
    }

    func clientLeft() { hasLeft = true }

    /// - Throws: what the caller refuses the request with. Later refusals are sent.
    func begin(_ body: RESTBodyText) throws(RESTRefusal) {
        let headers: HTTPHeaders = ["Content-Type": RESTBody.contentType, "Cache-Control": "no-cache"]
        switch (name, request.verb) {
        case ("rules", .get):
            do throws(RealtimeServiceError) {
                let rules = try database.rulesSource()
                connection.send(.ok, headers, ByteBuffer(bytes: request.isStrict ? rules.json : rules.source))
            } catch {
                throw RESTRefusal(error)
            }
        case ("rules", .put):
            let source = try Self.small(body)
            guard !source.isEmpty else { throw RESTRefusal(400, "Error: No data supplied.") }
            let (database, isDryRun, completion) = (database, request.isDryRun, completion(headers))
            // Compiling a large file takes up to a second, for which the loop's other connections would wait.
            connection.loop.parts.longWork.add(of: connection.client.address) {
                database.setRules(source, isDryRun: isDryRun, completion)
            }
        case (_, .get):
            guard let json = database.setting(name) else { throw noSetting }
            connection.send(.ok, headers, ByteBuffer(bytes: json))
        case (_, .put), (_, .post):
            guard database.setting(name) != nil else { throw noSetting }
            database.setSetting(name, try Self.small(body), completion(headers))
        default: throw RESTRefusal(405, "A setting is read with GET and changed with PUT.")
        }
    }

    private static func small(_ body: RESTBodyText) throws(RESTRefusal) -> [UInt8] {
        switch body.take() {
        case .buffer(let buffer): return Array(buffer.readableBytesView)
        case .file: throw RESTRefusal(400, "A setting has at most \(Spool.maxBytesInMemory) bytes.")
        }
    }

    private var noSetting: RESTRefusal { RESTRefusal(404, "There is no setting \(name.excerpt).") }

    private func completion(
        _ headers: HTTPHeaders
    ) -> @Sendable (Result<Void, RealtimeServiceError>) -> Void {
        let exchange = NIOLoopBound(self, eventLoop: connection.loop.eventLoop)
        return { [queue = connection.queue] result in
            queue.post {
                let exchange = exchange.value
                guard !exchange.hasLeft else { return }
                let connection = exchange.connection
                switch result {
                case .success: connection.send(.ok, headers, ByteBuffer(string: #"{"status":"ok"}"#))
                // As tools show it.
                case .failure(.rules(let problem)): connection.refuse(RESTRefusal(400, problem.text + "\n"))
                case .failure(let error): connection.refuse(RESTRefusal(error))
                }
            }
        }
    }
}
