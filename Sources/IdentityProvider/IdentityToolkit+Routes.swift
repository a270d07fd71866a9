import TokenVerification
import HTTPTypes
package import Hummingbird
import NIOCore

extension IdentityToolkit {
    /// Adds sign-in to a router, under the paths of the emulator.
    ///
    /// Errors of all its routes, including unknown ones, have sign-in's format, so sign-in needs a router of its own.
    package func addRoutes<Context: RequestContext>(to router: Router<Context>) {
        router.addMiddleware {
            SignInCORS()
            SignInErrors()
        }
        router.post("/identitytoolkit.googleapis.com/v1/accounts:{operation}") { request, context in
            try requireKey(request)
            let operation = try context.parameters.require("operation")
            guard Self.operations.contains(operation) else { throw IdentityToolkitError.notFound }
            let body = try await SignInRequest(reading: request)
            return switch operation {
            case "signUp": try Response.json(try await signUp(body))
            case "lookup": try Response.json(try await lookUp(body))
            case "delete": try Response.json(try await delete(body))
            default: throw IdentityToolkitError.operationNotAllowed
            }
        }
        router.post("/securetoken.googleapis.com/v1/token") { request, _ in
            try requireKey(request)
            return try Response.json(try await refresh(try await SignInRequest(reading: request)))
        }
        for prefix in ["", "/www.googleapis.com"] {
            router.get(RouterPath(prefix + IDTokenCertificates.path)) { _, _ in
                var response = try Response.json([key.keyID: key.certificate])
                response.headers[.cacheControl] = "public, max-age=3600, must-revalidate"
                return response
            }
        }
        if policy.adminAuthorization != nil { addDevelopmentRoutes(to: router) }
    }

    private func addDevelopmentRoutes(to router: Router<some RequestContext>) {
        router.post("/identitytoolkit.googleapis.com/v1/projects/{project}/accounts:{operation}") { request, context in
            guard request.headers[.authorization] == policy.adminAuthorization else {
                throw IdentityToolkitError.permissionDenied
            }
            try requireProject(context.parameters)
            let operation = try context.parameters.require("operation")
            let body = try await SignInRequest(reading: request)
            return switch operation {
            case "lookup": try Response.json(try await lookUpAsAdmin(body))
            case "update": try Response.json(try await updateAsAdmin(body))
            case "delete": try Response.json(try await deleteAsAdmin(body))
            default: throw IdentityToolkitError.notFound
            }
        }
        router.delete("/emulator/v1/projects/{project}/accounts") { _, context in
            try requireProject(context.parameters)
            try await deleteAll()
            return try Response.json([String: String]())
        }
    }

    /// The operations that clients call. All but three need a provider that local sign-in doesn't have.
    private static let operations: Set<String> = [
        "signUp", "lookup", "delete", "update", "signInWithPassword", "signInWithCustomToken", "signInWithIdp",
        "signInWithEmailLink", "signInWithPhoneNumber", "sendVerificationCode", "sendOobCode", "resetPassword",
        "createAuthUri",
    ]

    /// Accepts any key, in the query or in the header. Keys identify projects, and there is only one.
    private func requireKey(_ request: Request) throws {
        let header = HTTPField.Name("x-goog-api-key").flatMap { request.headers[$0] }
        let key = request.uri.queryParameters["key"] ?? header?[...]
        guard key?.isEmpty == false else { throw IdentityToolkitError.missingKey }
    }

    private func requireProject(_ parameters: Parameters) throws {
        guard parameters.get("project") == project else { throw IdentityToolkitError.projectMismatch }
    }
}
