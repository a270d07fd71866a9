package import HostConfiguration
import SecurityRules

/// The security rules and the indexes of a project: what is deployed besides its functions.
package struct ProjectRules: Sendable {
    /// Nil if there are none: see ``RulesSwitch``.
    package var rules: RulesFile?
    package var indexes: IndexFile?

    package init(rules: RulesFile? = nil, indexes: IndexFile? = nil) {
        self.rules = rules
        self.indexes = indexes
    }

    /// - Parameters:
    ///   - rules: the file of the rules; nil to have none.
    ///   - indexes: likewise.
    /// - Throws: all errors of a file at once.
    package static func load(rules: String?, indexes: String?) throws(ConfigurationError) -> ProjectRules {
        var loaded = ProjectRules()
        if let rules { loaded.rules = try RulesFile.load(rules) }
        if let indexes { loaded.indexes = try IndexFile.load(indexes) }
        return loaded
    }

    var isEmpty: Bool { rules == nil && indexes == nil }

    func hasSameContent(as other: ProjectRules) -> Bool {
        rules?.ruleset.source.bytes == other.rules?.ruleset.source.bytes && indexes?.source == other.indexes?.source
    }

    /// These with what another one has.
    func overlaid(by other: ProjectRules) -> ProjectRules {
        ProjectRules(rules: other.rules ?? rules, indexes: other.indexes ?? indexes)
    }
}
