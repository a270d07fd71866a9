/// Rules of one of the languages.
package protocol CompiledRules: Sendable {
    var source: SourceText { get }
    /// In the order of their places.
    var warnings: [Diagnostic] { get }

    /// - Throws: ``InvalidRules`` with all errors that were found, and the warnings.
    init(_ text: String) throws(InvalidRules)
}

extension Ruleset: CompiledRules {}
extension DatabaseRules: CompiledRules {}
