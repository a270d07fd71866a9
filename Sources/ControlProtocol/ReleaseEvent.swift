/// A change of the release that a bundle serves.
package struct ReleaseEvent: Codable, Equatable, Sendable {
    package enum Action: String, Codable, Sendable {
        case deploy, rollback, promote, remove
    }

    package var action: Action
    package var bundle: String
    /// The new release; nil if the bundle was removed or serves a local build.
    package var release: String?
    /// The release that was served before; nil if it wasn't a deployed one.
    package var before: String?
    /// RFC 3339.
    package var time: String
    package var user: String

    package init(
        action: Action, bundle: String, release: String? = nil, before: String? = nil, time: String, user: String
    ) {
        self.action = action
        self.bundle = bundle
        self.release = release
        self.before = before
        self.time = time
        self.user = user
    }
}
