import DocumentModel

/// The compiled rules of a Realtime Database.
package struct DatabaseRules: Sendable {
    package let source: SourceText
    /// Warnings, in the order of their places.
    package let warnings: [Diagnostic]
    let program: DatabaseProgram
    /// All nodes; the root is the first, and a node comes before those within it.
    let nodes: [DatabaseRulesTreeNode]
    /// All rules, in the order of the file.
    let rules: [DatabaseRule]

    /// - Throws: ``InvalidRules`` with all errors that were found, and the warnings.
    package init(_ text: String) throws(InvalidRules) {
        var compiler = DatabaseRulesCompiler(SourceText(text))
        compiler.compileFile()
        self = try compiler.finished()
    }

    init(
        source: SourceText, warnings: [Diagnostic], program: DatabaseProgram, nodes: [DatabaseRulesTreeNode],
        rules: [DatabaseRule]
    ) {
        self.source = source
        self.warnings = warnings
        self.program = program
        self.nodes = nodes
        self.rules = rules
    }

    /// The file as strict JSON, without comments: the answer to `format=strict`.
    package var strictJSON: String { DatabaseRulesFile.strictJSON(source.bytes) }

    /// What `.indexOn` names for the children of a location.
    package func indexes(at path: some Sequence<String>) -> [DatabaseRulesIndex] {
        var node: DatabaseRulesTreeNode? = nodes[0]
        for segment in path { node = node.flatMap { child(of: $0, segment) }.map { nodes[$0] } }
        return node?.indexes ?? []
    }

    /// All that `.indexOn` names: the location, in which names that begin with `$` stand for any key, and the index.
    package var indexDefinitions: [(location: [String], index: DatabaseRulesIndex)] {
        nodes.flatMap { node in
            guard !node.indexes.isEmpty else { return [(location: [String], index: DatabaseRulesIndex)]() }
            var location: [String] = []
            var current: DatabaseRulesTreeNode? = node
            while let here = current, here.parent != nil {
                location.append(here.name)
                current = here.parent.map { nodes[$0] }
            }
            return node.indexes.map { (Array(location.reversed()), $0) }
        }
    }

    /// Whether a query of a location's children has an index. Keys and priorities need none.
    package func hasIndex(for order: DatabaseRulesQuery.Order, at path: some Sequence<String>) -> Bool {
        switch order {
        case .key, .priority: true
        case .value: indexes(at: path).contains(.value)
        case .child(let child): indexes(at: path).contains(.child(DatabasePathText.segments(child)))
        }
    }

    /// The node for a key: that of the literal name, else that of the `$name`.
    func child(of node: DatabaseRulesTreeNode, _ key: String) -> Int? {
        node.children.index(of: key) ?? node.wildcard
    }
}

/// How the children of a location are indexed.
package enum DatabaseRulesIndex: Sendable {
    /// `.value`
    case value
    /// The path of a descendant, relative to each child.
    case child([String])
}

extension DatabaseRulesIndex: Equatable {
    /// Keys are compared by their bytes.
    package static func == (a: DatabaseRulesIndex, b: DatabaseRulesIndex) -> Bool {
        switch (a, b) {
        case (.value, .value): true
        case (.child(let a), .child(let b)): a.elementsEqual(b) { TextBytes.equal($0, $1) }
        default: false
        }
    }
}

/// A location of the rules, or all of a parent's children if its name begins with `$`.
struct DatabaseRulesTreeNode: Sendable {
    /// Empty for the root.
    var name: String
    var parent: Int?
    /// The number of segments from the root.
    var depth: Int
    var children = DatabaseRulesChildren()
    /// The child whose name begins with `$`.
    var wildcard: Int?
    var read: Int?
    var write: Int?
    var validate: Int?
    /// Whether a node below has `.validate`.
    var validatesBelow = false
    var indexes: [DatabaseRulesIndex] = []
}

/// Children by name. Names are compared by their bytes.
struct DatabaseRulesChildren: Sendable {
    private static let longestUnsorted = 8

    private(set) var all: [(name: String, node: Int)] = []
    /// Once a linear search would be slower.
    private var byName: [PatternText: Int] = [:]

    mutating func append(_ name: String, _ node: Int) {
        all.append((name, node))
        if all.count == Self.longestUnsorted + 1 {
            for child in all { byName[PatternText(text: child.name)] = child.node }
        } else if all.count > Self.longestUnsorted {
            byName[PatternText(text: name)] = node
        }
    }

    func index(of name: String) -> Int? {
        guard byName.isEmpty else { return byName[PatternText(text: name)] }
        for child in all where TextBytes.equal(child.name, name) { return child.node }
        return nil
    }
}

/// A `.read`, `.write` or `.validate`.
struct DatabaseRule: Sendable {
    var kind: DatabaseRuleKind
    /// The location.
    var node: Int
    /// Where its key stands.
    var position: SourcePosition
    var text: RulesFileString
    /// A rule that says true or false, as a boolean or as a string.
    var literal: Bool?
    /// What it is if it has a value at all; nil if that depends on something.
    var constant: Bool?
    /// Where the code begins and ends.
    var code: Range<Int> = 0..<0
}

package enum DatabaseRuleKind: String, Sendable {
    case read = ".read"
    case write = ".write"
    case validate = ".validate"
}
