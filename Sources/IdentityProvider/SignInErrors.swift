import HTTPTypes
import Hummingbird
import Logging

/// Responds to all errors, including the router's own, in the format that sign-in clients read.
struct SignInErrors<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as IdentityToolkitError {
            return try error.response
        } catch let error as any HTTPResponseError where error.status == .notFound {
            return try IdentityToolkitError.notFound.response
        } catch let error as any HTTPResponseError where error.status == .contentTooLarge {
            return try IdentityToolkitError.bodyTooLarge.response
        } catch {
            context.logger.error("sign-in request failed", metadata: ["error": "\(error)"])
            return try IdentityToolkitError.internal.response
        }
    }
}
