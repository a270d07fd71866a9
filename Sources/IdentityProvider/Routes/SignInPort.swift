import DocumentModel
import HTTPTypes
package import Hummingbird
package import HummingbirdCore
import Logging
package import NIOCore
import StrictJSON
import TextFormats
package import TokenVerification
import UserStore

/// Serves sign-in under the paths of Google's services and of the emulator.
package struct SignInPort: HTTPResponder {
    /// What a request brings beside itself: the peer's address.
    package struct Context: RequestContext, InitializableFromSource {
        package var coreContext: CoreRequestContextStorage
        let peer: SocketAddress?

        package init(source: ApplicationRequestContextSource) {
            coreContext = .init(source: source)
            peer = source.channel.remoteAddress
        }
    }

    private let toolkit: IdentityToolkit
    /// Whether a token is that of an admin.
    private let isAdmin: @Sendable (Substring) -> Bool
    /// The client's address, behind the proxies that are trusted.
    private let address: @Sendable (SocketAddress?, HTTPFields) -> String

    /// What clients' apps must prove.
    private let apps: AppCheckGate?

    /// Clients' requests are small; an import has a thousand users.
    private static let maxBytes = 64 * 1024
    private static let maxAdminBytes = 8 << 20

    /// - Parameter apps: nil to demand nothing of clients' apps.
    package init(
        _ toolkit: IdentityToolkit, apps: AppCheckGate? = nil, isAdmin: @escaping @Sendable (Substring) -> Bool,
        address: @escaping @Sendable (SocketAddress?, HTTPFields) -> String
    ) {
        self.toolkit = toolkit
        self.apps = apps
        self.isAdmin = isAdmin
        self.address = address
    }

    package func respond(to request: Request, context: Context) async throws -> Response {
        var response: Response
        if SignInCORS.isPreflight(request) {
            response = Response(status: .noContent)
        } else {
            do {
                response = try await answer(request, context)
            } catch {
                let isAdmin = (try? access(request)) == .admin
                let route = Self.route(request)
                response = try Self.response(to: error, of: route, isAdmin: isAdmin, context.logger)
            }
        }
        SignInCORS.allow(request, &response)
        return response
    }

    private func answer(_ request: Request, _ context: Context) async throws -> Response {
        guard let route = Self.route(request) else { throw IdentityToolkitError.notFound }
        switch route {
        case .operation(let operation, let project):
            let access = try access(request)
            try access.require(isForAdmins: project != nil || operation.isForAdmins)
            if let project { try requireProject(project) }
            if access != .admin, request.method == .post { try await checkApp(request) }
            let call = try await call(request, context, isAdmin: access == .admin)
            if let target = call["targetProjectId"], call.isAdmin { try requireProject(target) }
            return try Self.json(await toolkit.perform(operation, call))
        case .token:
            let access = try access(request)
            try access.require(isForAdmins: false)
            if access != .admin { try await checkApp(request) }
            return try Self.json(await toolkit.refresh(call(request, context, isAdmin: false)))
        case .certificates: return try Self.published(toolkit.publicKeys.certificates)
        case .webKeys: return try Self.published(toolkit.publicKeys.webKeySet)
        case .tenant:
            try access(request).require(isForAdmins: true)
            throw IdentityToolkit.noTenants
        case .saml:
            try access(request).require(isForAdmins: true)
            throw IdentityToolkit.noSAML
        case .providers(let action, let id, let project):
            try access(request).require(isForAdmins: true)
            try requireProject(project)
            return try Self.json(
                await toolkit.perform(action, on: id ?? "", call(request, context, isAdmin: true)))
        case .helper(let helper, let project):
            guard toolkit.isDevelopment else { throw IdentityToolkitError.notFound }
            try requireProject(project)
            return try Self.json(await toolkit.perform(helper, call(request, context, isAdmin: true)))
        case .page(let page): return try await toolkit.respond(with: page, call(request, context, isAdmin: false))
        }
    }

    private static func route(_ request: Request) -> SignInRoute? {
        var method = request.method.rawValue
        // Java's own HTTP client, which Firebase's library uses, has no PATCH.
        if request.method == .post, let other = methodOverride.flatMap({ request.headers[$0] }) {
            method = other.uppercased()
        }
        return SignInRoute(method: method, path: request.uri.path)
    }

    private static let methodOverride = HTTPField.Name("X-HTTP-Method-Override")

    // MARK: Who calls

    private enum Access {
        case none, key, admin

        func require(isForAdmins: Bool) throws(IdentityToolkitError) {
            switch (self, isForAdmins) {
            case (.admin, _), (.key, false): return
            case (.none, false): throw .missingKey
            case (.key, true): throw .insufficientPermission
            case (.none, true): throw .missingCredentials
            }
        }
    }

    /// Any key is accepted: keys identify projects, and there is only one.
    private func access(_ request: Request) throws(IdentityToolkitError) -> Access {
        if let header = request.headers[.authorization], header.lowercased().hasPrefix("bearer ") {
            let token = header.dropFirst(7)
            // As the emulator does: some libraries have no other token for it, such as kreait/firebase-php.
            let isOwner = token.lowercased() == "owner" || BearerToken.isGoogleAccessToken(token)
            guard toolkit.isDevelopment && isOwner || isAdmin(token) else { throw .unauthenticated }
            return .admin
        }
        let query = FormFields.values((request.uri.query ?? "").utf8)
        let key = query["key"] ?? HTTPField.Name("x-goog-api-key").flatMap { request.headers[$0] }
        return key?.isEmpty == false ? .key : .none
    }

    /// - Throws: if the app must have a valid App Check token, and has none. Servers need none.
    private func checkApp(_ request: Request) async throws(IdentityToolkitError) {
        guard let apps else { return }
        let token = HTTPField.Name("X-Firebase-AppCheck").flatMap { request.headers[$0] }
        switch await apps.refusal(of: token) {
        case nil: return
        case .unavailable?: throw .unavailable
        case .valid?, .invalid?, .missing?: throw .invalidAppCheckToken
        }
    }

    private func requireProject(_ project: String) throws(IdentityToolkitError) {
        guard project == toolkit.project || project == toolkit.configuration.projectNumber else {
            throw IdentityToolkitError("PROJECT_NUMBER_MISMATCH : This host serves the project \(toolkit.project).")
        }
    }

    // MARK: Reading

    private func call(_ request: Request, _ context: Context, isAdmin: Bool) async throws -> SignInCall {
        let limit = isAdmin ? Self.maxAdminBytes : Self.maxBytes
        let bytes: [UInt8]
        do {
            var body = try await request.body.collect(upTo: limit)
            bytes = body.readBytes(length: body.readableBytes) ?? []
        } catch let error as any HTTPResponseError where error.status == .contentTooLarge {
            throw IdentityToolkitError.bodyTooLarge(limit)
        }
        let isForm = request.headers[.contentType]?.hasPrefix("application/x-www-form-urlencoded") == true
        let scheme = request.head.scheme ?? "http"
        return SignInCall(
            fields: try isForm ? SignInRequest(form: bytes) : SignInRequest(json: bytes), isAdmin: isAdmin,
            origin: CallOrigin(
                address: address(context.peer, request.headers),
                base: "\(scheme)://\(request.head.authority ?? "127.0.0.1")",
                userAgent: request.headers[.userAgent],
                locale: HTTPField.Name("X-Firebase-Locale").flatMap { request.headers[$0] } ?? "en"),
            query: FormFields.values((request.uri.query ?? "").utf8),
            readsHTML: request.headers[.accept]?.contains("text/html") == true, isPost: request.method == .post)
    }

    // MARK: Answering

    static func json(_ body: JSONObject, status: HTTPResponse.Status = .ok) throws -> Response {
        Response(
            status: status, headers: [.contentType: "application/json; charset=UTF-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: try JSONValue.object(body).serialized())))
    }

    private static func published(_ keys: JSONObject) throws -> Response {
        var response = try json(keys)
        response.headers[.cacheControl] = "public, max-age=\(SigningKeys.maxAge), must-revalidate"
        return response
    }

    private static func response(
        to error: any Error, of route: SignInRoute?, isAdmin: Bool, _ logger: Logger
    ) throws -> Response {
        let known: IdentityToolkitError
        switch error {
        case let error as IdentityToolkitError: known = error
        case let conflict as UserConflict: known = IdentityToolkitError(conflict)
        case let error as DocumentError where error.code == .unavailable: known = .unavailable
        default:
            logger.error("sign-in request failed", metadata: ["error": "\(error)"])
            known = .internal
        }
        // An app that can't be attested for a moment has no valid App Check token.
        let isOfApp = route?.isForSession == true && known == .invalidAppCheckToken
        guard !isAdmin, known.mayPass || isOfApp else { return try json(known.body, status: known.status) }
        // When a page is loaded, the web SDK takes any error in JSON for the end of the session, and signs its user
        // out. It takes what isn't JSON for a failure of the network, and asks again later.
        return Response(
            status: known.status, headers: [.contentType: "text/plain; charset=UTF-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: known.message)))
    }
}
