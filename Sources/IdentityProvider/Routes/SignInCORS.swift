import HTTPTypes
package import Hummingbird

/// Allows browsers on any origin to sign in, as Google does: requests are authorized by their content, never by
/// cookies.
package enum SignInCORS {
    private static let requestsPrivateNetwork = HTTPField.Name("Access-Control-Request-Private-Network")
    private static let allowsPrivateNetwork = HTTPField.Name("Access-Control-Allow-Private-Network")

    package static func isPreflight(_ request: Request) -> Bool {
        request.method == .options && request.headers[.origin] != nil
            && request.headers[.accessControlRequestMethod] != nil
    }

    package static func allow(_ request: Request, _ response: inout Response) {
        // Also without an origin: caches keep the public keys, and would give pages what a program was answered.
        response.headers[.vary] = "Origin, Access-Control-Request-Headers"
        guard let origin = request.headers[.origin] else { return }
        response.headers[.accessControlAllowOrigin] = origin
        guard isPreflight(request) else { return }
        response.headers[.accessControlAllowMethods] = "GET,HEAD,PUT,PATCH,POST,DELETE"
        response.headers[.accessControlAllowHeaders] = request.headers[.accessControlRequestHeaders]
        response.headers[.accessControlMaxAge] = "3600"
        if let asked = requestsPrivateNetwork, let allowed = allowsPrivateNetwork, request.headers[asked] == "true" {
            response.headers[allowed] = "true"
        }
    }
}
