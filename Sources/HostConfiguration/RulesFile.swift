package import SecurityRules

/// A file of security rules that can be used.
package struct RulesFile<Rules: CompiledRules>: Sendable {
    package let path: String
    package let ruleset: Rules

    /// - Parameter key: the key of functions.json that names the file.
    /// - Throws: all errors of the file at once, each with its place: `firestore.rules:12:5: expected ';' …`.
    package static func load(_ path: String, key: String) throws(ConfigurationError) -> RulesFile {
        try RulesFile(
            try ConfigurationFile.read(path, hint: "create it, or name another one as \"\(key)\" in functions.json"),
            path: path)
    }

    /// - Parameter path: for messages.
    /// - Throws: all errors of the file at once.
    package init(_ bytes: [UInt8], path: String) throws(ConfigurationError) {
        func failure(_ problems: [ConfigurationError.Problem]) -> ConfigurationError {
            ConfigurationError(file: path, problems: problems)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw failure([.init(place: nil, key: "", message: "the rules aren't text in UTF-8")])
        }
        do {
            ruleset = try Rules(text)
        } catch {
            throw failure(
                error.diagnostics.filter { $0.severity == .error }.map {
                    .init(
                        place: .init(line: $0.position.line, column: $0.position.column), key: "", message: $0.message)
                })
        }
        self.path = path
    }

    /// - Parameter path: for messages.
    package init(path: String, _ ruleset: Rules) {
        self.path = path
        self.ruleset = ruleset
    }

    package var warnings: [String] { ruleset.warnings.map { "\(path):\($0.position): \($0.message)" } }
}
