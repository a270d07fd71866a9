package import DocumentModel
import GoogleREST
import HTTPTypes
package import Hummingbird
import NIOCore
package import SecurityRules
package import Sharing
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
    let isDevelopment: Bool
    let rules: ClientRules
    private let principals: PrincipalReader
    /// Nil for a service without streams.
    private let webChannel: WebChannelService?
    private let connections: ClientConnections?
    private let address: AddressReader
    private let answers: MemoryBudget?
    private let maxBodyBytes: Int
    private let isForeign: @Sendable (_ origin: String) -> Bool
    private let pause: @Sendable () async -> Void

    /// Firestore's own limit on the size of a request.
    package static let maxRequestBytes = 10 * 1024 * 1024
    /// The web SDK sends several messages at once, as a form in which most characters take three bytes.
    private static let maxFormFactor = 3

    /// - Parameters:
    ///   - rules: what clients may do; can be replaced in development.
    ///   - connections: the port's connections; nil if requests come without.
    ///   - answers: the memory of all answers; nil for no bound.
    ///   - isForeign: whether the pages of an origin can't act as the owner.
    ///   - pause: what passes until a request for too much is refused. Clients wait before they retry anyway; those that
    ///     don't can't keep the host busy with refusals.
    package init(
        database: DatabaseID, service: any DocumentService, rules: ClientRules, isDevelopment: Bool,
        principals: PrincipalReader, webChannel: WebChannelService? = nil, connections: ClientConnections? = nil,
        address: @escaping AddressReader = { _, _ in nil }, answers: MemoryBudget? = nil,
        maxBodyBytes: Int = maxRequestBytes, isForeign: @escaping @Sendable (_ origin: String) -> Bool = { _ in false },
        pause: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .milliseconds(100)) }
    ) {
        self.database = database
        self.service = service
        self.rules = rules
        self.isDevelopment = isDevelopment
        self.principals = principals
        self.webChannel = webChannel
        self.connections = connections
        self.address = address
        self.answers = answers
        self.maxBodyBytes = maxBodyBytes
        self.isForeign = isForeign
        self.pause = pause
    }

    private static let forwardedFor = HTTPField.Name("X-Forwarded-For")

    package func respond(to request: Request, context: Context) async throws -> Response {
        var response: Response
        if request.method == .options {
            response = Response(status: .ok)
        } else {
            let forwarded = Self.forwardedFor.map { request.headers[values: $0] } ?? []
            let address = address(context.channel.remoteAddress, forwarded)
            let call = ClientCall(address: address, answer: ClientAnswer(answers, for: .stranger(address ?? 0)))
            response = await ClientCall.$current.withValue(call) {
                guard let connections else { return await respond(request, call, on: context.channel) }
                return await connections.during(call.cancellation, on: context.channel) {
                    await respond(request, call, on: context.channel)
                }
            }
        }
        // By now the request's content is free; the port still counts its body.
        if response.status == .tooManyRequests { await pause() }
        RESTCORS.allow(request.headers, in: &response.headers)
        return response
    }

    private func respond(_ request: Request, _ call: ClientCall, on channel: any Channel) async -> Response {
        if let webChannel, request.uri.path.hasPrefix(WebChannelRequest.prefix) {
            return await webChannel.respond(to: request, on: channel, call) { () async throws(DocumentError) in
                try await Self.form(request, upTo: Self.maxFormFactor * maxBodyBytes)
            } requester: { authorization, appCheck async throws(DocumentError) in
                // Browsers send it in the form, where the port doesn't see it.
                if let authorization, principals.isOwner(authorization),
                    request.headers[values: .origin].contains(where: isForeign)
                {
                    throw PrincipalReader.foreignOwner
                }
                return try await principals.requester(authorization, appCheck: appCheck)
            }
        }
        do throws(DocumentError) {
            return try await answer(request, call).response(call, on: channel)
        } catch {
            return RESTResponse.error(error)
        }
    }

    private func answer(
        _ request: Request, _ call: ClientCall
    ) async throws(DocumentError) -> StreamedAnswer {
        if let answer = try await replaceRules(request) { return StreamedAnswer(answer) }
        guard let path = RESTPath(request.uri.path, hasVerb: request.method == .post) else {
            throw DocumentError(
                .notFound,
                "nothing is served at \(request.uri.path); documents are at /v1/\(database.documentsRoot)")
        }
        guard path.database == database else { throw database.doesNotExist(path.database) }
        let principal = try await principals.requester(
            request.headers[.authorization], appCheck: request.appCheckToken
        ).principal
        if let user = principal.holder { call.answer?.identify(user) }
        if path.isHelper { return StreamedAnswer(try await helper(request.method, path)) }
        guard request.method == .post || request.method == .patch else {
            return try await answer(request, path, ByteBuffer(), principal)
        }
        let body = try await body(request, call)
        guard body.readableBytes >= LargeRequests.leastBytes else {
            return try await answer(request, path, body, principal)
        }
        return try await LargeRequests(.decoding, of: call.address).run { () async throws(DocumentError) in
            try await answer(request, path, body, principal)
        }
    }

    private func answer(
        _ request: Request, _ path: RESTPath, _ buffer: ByteBuffer, _ principal: Principal
    ) async throws(DocumentError) -> StreamedAnswer {
        let query = request.uri.query
        let body = RESTBody(buffer)
        switch (request.method, path.verb) {
        case (.get, nil) where path.segments.count % 2 == 0:
            return StreamedAnswer(try await get(path, query, principal))
        case (.get, nil): return try await list(path, query, principal)
        case (.post, nil): return StreamedAnswer(try await create(path, query, body, principal))
        case (.patch, nil): return StreamedAnswer(try await update(path, query, body, principal))
        case (.delete, nil): return StreamedAnswer(try await delete(path, query, principal))
        case (.post, let verb?): return try await perform(verb, path, body, principal)
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

    private func body(_ request: Request, _ call: ClientCall) async throws(DocumentError) -> ByteBuffer {
        let length = request.headers[.contentLength].flatMap { Int($0) } ?? 0
        guard length >= LargeRequests.leastBytes else { return try await body(request) }
        return try await LargeRequests(.receiving, of: call.address).run { () async throws(DocumentError) in
            try await body(request)
        }
    }

    func body(_ request: Request) async throws(DocumentError) -> ByteBuffer {
        try await RESTBody.bytes(of: request, atMost: maxBodyBytes)
    }

    /// A body of WebChannel. What is beyond the limit is read and dropped: a client that still sends sees no answer.
    private static func form(
        _ request: Request, upTo limit: Int
    ) async throws(DocumentError) -> (bytes: ByteBuffer, isWhole: Bool) {
        var (bytes, isWhole) = (ByteBuffer(), true)
        do {
            for try await var part in request.body {
                let room = limit - bytes.readableBytes
                if part.readableBytes > room { isWhole = false }
                guard let start = part.readSlice(length: min(room, part.readableBytes)) else { continue }
                bytes.writeImmutableBuffer(start)
            }
        } catch {
            throw DocumentError(.cancelled, "the request body was not received")
        }
        return (bytes, isWhole)
    }
}

extension Principal {
    /// Whose share of the host's memory a request uses; nil for a stranger.
    var holder: MemoryBudget.Holder? {
        switch self {
        case .admin: .host
        case .client(let client): client.map { .user(id: $0.uid) }
        }
    }
}

extension Request {
    private static let appCheckHeader = HTTPField.Name(PrincipalReader.appCheckHeader)

    var appCheckToken: String? { Self.appCheckHeader.flatMap { headers[$0] } }
}
