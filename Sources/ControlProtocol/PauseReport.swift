/// A paused function.
package struct PauseReport: Codable, Hashable, Sendable {
    package var function: String
    /// `paused`, `everythingPaused` or `budgetUsedUp`.
    package var reason: String
    package var since: String?

    package init(function: String, reason: String, since: String?) {
        self.function = function
        self.reason = reason
        self.since = since
    }
}

package struct PauseListing: Codable, Hashable, Sendable {
    /// The start of a pause of all functions; nil if there is none.
    package var everythingSince: String?
    package var functions: [PauseReport]

    package init(everythingSince: String?, functions: [PauseReport]) {
        self.everythingSince = everythingSince
        self.functions = functions
    }
}
