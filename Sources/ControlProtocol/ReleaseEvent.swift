/// Something that happened to what a bundle serves.
package struct ReleaseEvent: Codable, Equatable, Sendable {
    package enum Action: String, Codable, Sendable {
        case deploy, rollback, promote, remove
    }

    package var action: Action
    package var bundle: String
    /// What is served from then on; nil where nothing is.
    package var release: String?
    /// What was served before; nil where it was none of the releases kept.
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
