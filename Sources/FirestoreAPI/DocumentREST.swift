package import DocumentModel
import GoogleREST
import HTTPTypes
package import Hummingbird
import NIOCore
import StrictJSON

/// Firestore's REST API over a document service.
///
/// Serves one database; requests for another project or database fail with NOT_FOUND. An unknown key or query parameter
/// fails with INVALID_ARGUMENT and its path. Browsers of any origin are allowed, because access depends on the token
/// alone and never on a cookie.
package struct DocumentREST: HTTPResponder {
    /// A request's context, with its connection.
    package struct Context: RequestContext {
        package typealias Source = ApplicationRequestContextSource

        package var coreContext: CoreRequestContextStorage
        let channel: any Channel

        package init(source: Source) {
            coreContext = .init(source: source)
            channel = source.channel
        }
    }

    /// A number that stands for the address of a client, of its connection's peer and `X-Forwarded-For`.
    package typealias AddressReader = @Sendable (_ peer: SocketAddress?, _ forwardedFor: [String]) -> UInt64?

    let database: DatabaseID
    let service: any DocumentService
    private let isDevelopment: Bool
    private let principals: PrincipalReader
    private let connections: ClientConnections?
    private let address: AddressReader
    private let maxBodyBytes: Int

    /// Firestore's own limit on the size of a request.
    package static let maxRequestBytes = 10 * 1024 * 1024

    /// - Parameter connections: the port's connections; nil if requests come without.
    package init(
        database: DatabaseID, service: any DocumentService, isDevelopment: Bool,
        principals: PrincipalReader, connections: ClientConnections? = nil,
        address: @escaping AddressReader = { _, _ in nil }, maxBodyBytes: Int = maxRequestBytes
    ) {
        self.database = database
        self.service = service
        self.isDevelopment = isDevelopment
        self.principals = principals
        self.connections = connections
        self.address = address
        self.maxBodyBytes = maxBodyBytes
    }

    package func respond(to request: Request, context: Context) async throws -> Response {
        var response: Response
        if request.method == .options {
            response = Response(status: .ok)
        } else {
            let forwarded = HTTPField.Name("X-Forwarded-For").map { request.headers[values: $0] } ?? []
            let call = ClientCall(address: address(context.channel.remoteAddress, forwarded))
            response = await ClientCall.$current.withValue(call) {
                guard let connections else { return await answered(request) }
                return await connections.during(call.cancellation, on: context.channel) {
                    await answered(request)
                }
            }
        }
        RESTCORS.allow(request.headers, in: &response.headers)
        return response
    }

    private func answered(_ request: Request) async -> Response {
        let hasBody = request.method == .post || request.method == .patch
        // A body without a length may be large, too.
        let length = hasBody ? request.headers[.contentLength].flatMap { Int($0) } ?? .max : 0
        guard length >= LargeRequests.leastBytes else { return await respond(request) }
        return await withTaskExecutorPreference(LargeRequests.shared) { await respond(request) }
    }

    private func respond(_ request: Request) async -> Response {
        do throws(DocumentError) {
            return RESTResponse.json(try await answer(request).bytes, status: .ok)
        } catch {
            return RESTResponse.error(error)
        }
    }

    private func answer(_ request: Request) async throws(DocumentError) -> JSONWriter {
        guard let path = RESTPath(request.uri.path, hasVerb: request.method == .post) else {
            throw DocumentError(
                .notFound,
                "nothing is served at \(request.uri.path); documents are at /v1/\(database.documentsRoot)")
        }
        guard path.database == database else {
            throw DocumentError(
                .notFound,
                "this host serves \(database.resourceName), not \(path.database.resourceName)")
        }
        let principal = try await principals.principal(request.headers[.authorization])
        let query = request.uri.query
        if path.isHelper { return try await helper(request.method, path) }
        switch (request.method, path.verb) {
        case (.get, nil) where path.segments.count % 2 == 0: return try await get(path, query, principal)
        case (.get, nil): return try await list(path, query, principal)
        case (.post, nil): return try await create(path, query, try await body(request), principal)
        case (.patch, nil): return try await update(path, query, try await body(request), principal)
        case (.delete, nil): return try await delete(path, query, principal)
        case (.post, let verb?): return try await perform(verb, path, try await body(request), principal)
        default:
            throw DocumentError(.notFound, "\(request.method.rawValue) isn't supported here")
        }
    }

    /// Serves requests that exist in development only and need no token.
    private func helper(_ method: HTTPRequest.Method, _ path: RESTPath) async throws(DocumentError) -> JSONWriter {
        guard isDevelopment, method == .delete, path.segments.isEmpty else {
            throw DocumentError(.notFound, "the host is not in development mode, or this helper doesn't exist")
        }
        try await service.clear()
        return .emptyObject
    }

    /// Reads the body's JSON; an empty body is an empty message.
    private func body(_ request: Request) async throws(DocumentError) -> RESTBody {
        let buffer: ByteBuffer
        do {
            buffer = try await request.body.collect(upTo: maxBodyBytes)
        } catch let error as any HTTPResponseError where error.status == .contentTooLarge {
            throw .invalidArgument("the request body is larger than the limit of \(maxBodyBytes) bytes")
        } catch {
            throw DocumentError(.cancelled, "the request body was not received")
        }
        return try RESTBody(buffer)
    }
}
