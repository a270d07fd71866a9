import DocumentModel
import HTTPTypes

/// Who may enqueue tasks and publish events over HTTP.
///
/// Programs on the machine may, as they may with the emulators; neither users nor pages in a browser. In production
/// there is no such port: there is no credential for it, and what is published must come from a function.
enum EventAccess {
    /// - Returns: as whom the event is published.
    /// - Throws: `permissionDenied` or `unauthenticated`.
    static func auth(_ headers: HTTPFields) throws(DocumentError) -> EventAuth {
        // Pages send it with all that isn't a plain visit, and no program needs to.
        guard headers[.origin] == nil else {
            throw DocumentError(.permissionDenied, "a page in a browser can't enqueue or publish; call a function")
        }
        guard let authorization = headers[.authorization] else { return EventAuth(.unauthenticated) }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw DocumentError(.unauthenticated, "the header Authorization must be left out, or \"Bearer owner\"")
        }
        // A JSON web token. The admin's libraries send "owner", or an opaque access token that can't be checked here.
        guard !parts[1].hasPrefix("eyJ") else {
            throw DocumentError(
                .permissionDenied, "a user's token doesn't allow to enqueue or publish; send \"Bearer owner\"")
        }
        return EventAuth(.serviceAccount)
    }
}
