/// A change of the release that a bundle serves, or of the one of the security rules.
package struct ReleaseEvent: Codable, Equatable, Sendable {
    package enum Action: String, Codable, Sendable {
        case deploy, rollback, promote, remove
    }

    /// The rules and indexes that were switched together with a bundle.
    package struct Rules: Codable, Equatable, Sendable {
        /// Nil for the files of `functions.json`.
        package var release: String?
        /// The release that undoing the change serves again; the same one if its content was served already. Nil if there
        /// were no rules.
        package var before: String?

        package init(release: String?, before: String?) {
            self.release = release
            self.before = before
        }
    }

    package var action: Action
    /// `rules` for rules and indexes by themselves.
    package var bundle: String
    /// The new release; nil if the bundle was removed or serves a local build.
    package var release: String?
    /// The release that was served before; nil if it wasn't a deployed one.
    package var before: String?
    /// Nil if the rules stayed.
    package var rules: Rules?
    /// RFC 3339.
    package var time: String
    package var user: String

    package init(
        action: Action, bundle: String, release: String? = nil, before: String? = nil, rules: Rules? = nil,
        time: String, user: String
    ) {
        self.action = action
        self.bundle = bundle
        self.release = release
        self.before = before
        self.rules = rules
        self.time = time
        self.user = user
    }
}
