/// The result of `rules coverage`: how often each `allow` has decided, in the order of the file.
package struct RulesCoverageReport: Codable, Hashable, Sendable {
    package struct Statement: Codable, Hashable, Sendable {
        package var line: Int
        package var column: Int
        package var allowed: Int
        package var refused: Int

        package init(line: Int, column: Int, allowed: Int, refused: Int) {
            self.line = line
            self.column = column
            self.allowed = allowed
            self.refused = refused
        }
    }

    package var statements: [Statement]
    /// For the queries of a Realtime Database that were seen without an index, a sentence each; nil for Cloud Firestore.
    package var missingIndexes: [String]?

    package init(statements: [Statement], missingIndexes: [String]? = nil) {
        self.statements = statements
        self.missingIndexes = missingIndexes
    }
}

/// The result of `rules explain`.
package struct RulesReport: Codable, Hashable, Sendable {
    package struct Statement: Codable, Hashable, Sendable {
        package var line: Int
        package var column: Int
        /// Why it didn't allow the operation; nil if its condition was false.
        package var reason: String?

        package init(line: Int, column: Int, reason: String?) {
            self.line = line
            self.column = column
            self.reason = reason
        }
    }

    package struct Value: Codable, Hashable, Sendable {
        package var line: Int
        package var column: Int
        package var expression: String
        package var value: String

        package init(line: Int, column: Int, expression: String, value: String) {
            self.line = line
            self.column = column
            self.expression = expression
            self.value = value
        }
    }

    package var isAllowed: Bool
    /// The `allow` that allowed it.
    package var allow: Statement?
    /// The `allow` statements that were tried and didn't.
    package var refusals: [Statement]
    /// The values of all expressions, in the order of their evaluation.
    package var values: [Value]

    package init(isAllowed: Bool, allow: Statement?, refusals: [Statement], values: [Value]) {
        self.isAllowed = isAllowed
        self.allow = allow
        self.refusals = refusals
        self.values = values
    }
}
