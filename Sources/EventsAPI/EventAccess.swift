import DocumentModel
import HTTPTypes
import TextFormats

/// Decides who may enqueue tasks and publish events over HTTP.
///
/// Programs on the same machine may, as with the emulators; users and pages in a browser may not. The port exists in
/// development only, because it has no authentication: in production, events are published by functions.
enum EventAccess {
    /// - Parameter isServer: whether a token is a server's, with a key of this host.
    /// - Returns: the identity that the event is published under.
    /// - Throws: `permissionDenied` or `unauthenticated`.
    static func auth(_ headers: HTTPFields, isServer: (Substring) -> Bool) throws(DocumentError) -> EventAuth {
        // Browsers send `Origin` with every request that isn't plain navigation; programs don't need it.
        guard headers[.origin] == nil else {
            throw DocumentError(
                .permissionDenied, "a page in a browser can't enqueue tasks or publish events; call a function")
        }
        guard let authorization = headers[.authorization] else { return EventAuth(.unauthenticated) }
        guard let token = BearerToken.of(authorization) else {
            throw DocumentError(.unauthenticated, "omit the header Authorization, or send \"Bearer owner\"")
        }
        // Any other JSON Web Token is a user's. Admin libraries send "owner" or an opaque access token, which may be
        // Google's and can't be verified here.
        guard !token.hasPrefix("eyJ") || isServer(token) else {
            throw DocumentError(
                .permissionDenied, "users can't enqueue tasks or publish events; send \"Bearer owner\", no ID token")
        }
        return EventAuth(.serviceAccount)
    }
}
