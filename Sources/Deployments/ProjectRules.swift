package import HostConfiguration
package import SecurityRules

/// The files of rules and indexes that `functions.json` names, or that are to be deployed.
package struct RulesSource: Hashable, Sendable {
    package var rules: String?
    package var indexes: String?
    /// Of the Realtime Database.
    package var databaseRules: String?

    package init(rules: String? = nil, indexes: String? = nil, databaseRules: String? = nil) {
        self.rules = rules
        self.indexes = indexes
        self.databaseRules = databaseRules
    }

    package init(_ configuration: HostConfiguration) {
        self.init(
            rules: configuration.rules, indexes: configuration.indexes, databaseRules: configuration.databaseRules)
    }

    package var paths: [String] { [rules, indexes, databaseRules].compactMap(\.self) }
}

/// The security rules and the indexes of a project: what is deployed besides its functions.
package struct ProjectRules: Sendable {
    /// Nil if there are none: see ``RulesSwitch``.
    package var rules: RulesFile<Ruleset>?
    package var indexes: IndexFile?
    /// Those of the Realtime Database; nil if there are none.
    package var databaseRules: RulesFile<DatabaseRules>?

    package init() {}

    /// - Throws: all errors of a file at once.
    package init(loading source: RulesSource) throws(ConfigurationError) {
        if let file = source.rules { rules = try RulesFile.load(file, key: "rules") }
        if let file = source.indexes { indexes = try IndexFile.load(file) }
        if let file = source.databaseRules { databaseRules = try RulesFile.load(file, key: "databaseRules") }
    }

    var isEmpty: Bool { rules == nil && indexes == nil && databaseRules == nil }

    /// In the order of the languages.
    package var warnings: [String] { (rules?.warnings ?? []) + (databaseRules?.warnings ?? []) }

    func hasSameContent(as other: ProjectRules) -> Bool {
        rules?.source == other.rules?.source && indexes?.source == other.indexes?.source
            && databaseRules?.source == other.databaseRules?.source
    }

    /// These with what another one has.
    func overlaid(by other: ProjectRules) -> ProjectRules {
        var overlaid = self
        if let rules = other.rules { overlaid.rules = rules }
        if let indexes = other.indexes { overlaid.indexes = indexes }
        if let rules = other.databaseRules { overlaid.databaseRules = rules }
        return overlaid
    }
}

extension RulesFile {
    var source: [UInt8] { ruleset.source.bytes }
}
