package import Hummingbird

/// CORS for APIs that browsers on any origin may call.
package enum RESTCORS {
    /// Reflects the page's origin and the headers that a preflight requests. Does nothing if no browser sent the
    /// request.
    package static func allow(_ request: HTTPFields, in response: inout HTTPFields) {
        guard let origin = request[.origin] else { return }
        response[.accessControlAllowOrigin] = origin
        // The web SDK sends its requests with credentials, of which none is used.
        response[.accessControlAllowCredentials] = "true"
        response[.accessControlExposeHeaders] = "x-client-wire-protocol, x-http-session-id, x-http-initial-response"
        response[.vary] = "Origin"
        response[.accessControlAllowMethods] = "DELETE,GET,HEAD,PATCH,POST,PUT"
        if let headers = request[.accessControlRequestHeaders] {
            response[.accessControlAllowHeaders] = headers
            response[.accessControlMaxAge] = "3600"
        }
    }
}
