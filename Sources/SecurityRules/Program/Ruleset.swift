/// The compiled rules of a file.
package struct Ruleset: Sendable {
    /// What the file's `rules_version` says; 1 if it says nothing.
    package let version: Int
    /// Warnings, in the order of their places.
    package let warnings: [Diagnostic]
    package let source: SourceText
    let program: Program
    /// All `match` blocks; a block comes before those within it.
    let matches: [MatchBlock]
    /// The outermost blocks of `service cloud.firestore`.
    let roots: [Int]
    /// All `allow` statements, in the order of the file.
    let allows: [AllowStatement]

    /// - Throws: ``InvalidRules`` with all errors that were found, and the warnings.
    package init(_ text: String) throws(InvalidRules) {
        var parser = Parser(SourceText(text))
        parser.parseFile()
        self = try parser.linked()
    }

    /// Where an `allow` of a decision stands.
    package func position(ofAllow allow: Int) -> SourcePosition { allows[allow].position }

    init(
        version: Int, warnings: [Diagnostic], source: SourceText, program: Program, matches: [MatchBlock], roots: [Int],
        allows: [AllowStatement]
    ) {
        self.version = version
        self.warnings = warnings
        self.source = source
        self.program = program
        self.matches = matches
        self.roots = roots
        self.allows = allows
    }
}

/// A `match` block.
struct MatchBlock: Sendable {
    enum Segment: Sendable, Equatable {
        case literal(String)
        /// `{name}` or `{name=*}`: one segment.
        case single
        /// `{name=**}`: any number of segments; in version 1 the whole rest, at least one.
        case glob
    }

    var segments: [Segment]
    var range: SourceRange
    /// Indexes of the blocks and `allow` statements directly within.
    var children: [Int] = []
    var allows: [Int] = []

    var hasGlob: Bool { segments.contains { if case .glob = $0 { true } else { false } } }
}

/// `allow METHODS: if CONDITION`.
struct AllowStatement: Sendable {
    var methods: RulesMethods
    /// Where the condition's code begins; nil if there is none and it always holds.
    var condition: Int32?
    var range: SourceRange
    var position: SourcePosition
}

/// What clients do with documents.
package struct RulesMethods: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let get = RulesMethods(rawValue: 1)
    package static let list = RulesMethods(rawValue: 2)
    package static let create = RulesMethods(rawValue: 4)
    package static let update = RulesMethods(rawValue: 8)
    package static let delete = RulesMethods(rawValue: 16)
    static let read: RulesMethods = [.get, .list]
    static let write: RulesMethods = [.create, .update, .delete]

    static let named: [String: RulesMethods] = [
        "get": .get, "list": .list, "create": .create, "update": .update, "delete": .delete, "read": .read,
        "write": .write,
    ]
}
