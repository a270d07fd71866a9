import HTTPTypes
import Hummingbird

/// Allows browsers on any origin to sign in, as Google does: requests are authorized by their content, never by
/// cookies.
struct SignInCORS<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let origin = request.headers[.origin] else { return try await next(request, context) }
        let isPreflight = request.method == .options && request.headers[.accessControlRequestMethod] != nil
        var response = isPreflight ? Response(status: .noContent) : try await next(request, context)
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.vary] = "Origin, Access-Control-Request-Headers"
        if isPreflight {
            response.headers[.accessControlAllowMethods] = "GET,HEAD,PUT,PATCH,POST,DELETE"
            response.headers[.accessControlAllowHeaders] = request.headers[.accessControlRequestHeaders]
            response.headers[.accessControlMaxAge] = "3600"
        }
        return response
    }
}
