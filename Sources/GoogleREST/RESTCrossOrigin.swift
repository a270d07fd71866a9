package import Hummingbird

/// What lets browsers ask from any page.
package enum RESTCrossOrigin {
    /// Reflects the page's origin and the headers that a preflight asks for; nothing where no browser asks.
    package static func allow(_ request: HTTPFields, in response: inout HTTPFields) {
        guard let origin = request[.origin] else { return }
        response[.accessControlAllowOrigin] = origin
        response[.vary] = "Origin"
        response[.accessControlAllowMethods] = "DELETE,GET,HEAD,PATCH,POST,PUT"
        if let headers = request[.accessControlRequestHeaders] {
            response[.accessControlAllowHeaders] = headers
            response[.accessControlMaxAge] = "3600"
        }
    }
}
