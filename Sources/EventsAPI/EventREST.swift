package import DocumentModel
package import DocumentStore
import GoogleREST
import HTTPTypes
package import Hummingbird
package import Logging
import NIOCore
import StrictJSON

/// Tasks, events and messages over HTTP, with the APIs of Cloud Tasks, Eventarc, Pub/Sub and CloudEvents' HTTP binding.
///
/// A success response means that the task or event is durable in the outbox. Requests with unknown keys or parameters
/// are refused.
package struct EventREST: HTTPResponder {
    package typealias Context = BasicRequestContext

    let project: String
    let store: DocumentStore
    /// The regions of each function that has a task queue.
    let queues: @Sendable () -> [String: [String]]
    let now: @Sendable () -> Timestamp
    private let maxBodyBytes: Int
    /// A page of tasks ends once it holds this many bytes.
    let maxPageBytes: Int
    let logger: Logger
    private let metrics: MetricsSource
    private let isServer: @Sendable (Substring) -> Bool

    package init(
        project: String, store: DocumentStore, queues: @escaping @Sendable () -> [String: [String]], maxBodyBytes: Int,
        maxPageBytes: Int = 1 << 20, now: @escaping @Sendable () -> Timestamp = Timestamp.wallClock,
        isServer: @escaping @Sendable (Substring) -> Bool = { _ in false }, logger: Logger,
        metrics: @escaping MetricsSource
    ) {
        self.project = project
        self.store = store
        self.queues = queues
        self.now = now
        self.maxBodyBytes = maxBodyBytes
        self.maxPageBytes = maxPageBytes
        self.isServer = isServer
        self.logger = logger
        self.metrics = metrics
    }

    package func respond(to request: Request, context: Context) async throws -> Response {
        do throws(DocumentError) {
            let auth = try EventAccess.auth(request.headers, isServer: isServer)
            if request.method == .get, request.uri.path == "/metrics" {
                return MetricsText.response(try await metrics())
            }
            return RESTResponse.json(try await answer(request, auth).bytes, status: .ok)
        } catch {
            return RESTResponse.error(error)
        }
    }

    private func answer(_ request: Request, _ auth: EventAuth) async throws(DocumentError) -> JSONWriter {
        guard let path = EventRESTPath(request.uri.path) else {
            throw DocumentError(
                .notFound,
                "nothing is served at \(request.uri.path); tasks are at "
                    + "/projects/\(project)/locations/…/queues/…/tasks, events at /projects/\(project)/events")
        }
        guard path.project == project else {
            throw DocumentError(.notFound, "this host serves the project \(project), not \(path.project)")
        }
        switch (request.method, path.target) {
        case (.post, .tasks(let queue)):
            return try await createTask(queue, try await body(request), auth, isEmulated: !path.hasVersion)
        case (.get, .tasks(let queue)): return try await listTasks(queue, request.uri.query)
        case (.get, .task(let queue, let id)): return try await task(queue, id, request.uri.query)
        case (.delete, .task(let queue, let id)): return try await deleteTask(queue, id, auth)
        case (.post, .events): return try await publish(request.headers, try await body(request), auth)
        case (.post, .topic(let topic)): return try await publishMessages(topic, try await body(request), auth)
        case (.post, .channel): return try await publishEvents(try await body(request), auth)
        default:
            throw DocumentError(.notFound, "\(request.uri.path) doesn't support \(request.method.rawValue)")
        }
    }

    private func body(_ request: Request) async throws(DocumentError) -> ByteBuffer {
        try await RESTBody.bytes(of: request, atMost: maxBodyBytes)
    }

    /// Commits all of the effects, or none.
    func commit(_ effects: [Effect], _ auth: EventAuth) async throws(DocumentError) -> Timestamp {
        try await store.commit([], effects: effects, in: OperationContext(auth: auth)).result.commitTime
    }
}
