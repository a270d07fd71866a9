import DocumentModel
import TextFormats

/// Makes the tree of nodes of a file, and compiles its rules.
struct DatabaseRulesCompiler {
    private let source: SourceText
    private var diagnostics: Diagnostics
    private var parser = DatabaseExpressionParser()
    private var nodes: [DatabaseRulesTreeNode] = []
    private var rules: [DatabaseRule] = []

    init(_ source: SourceText) {
        self.source = source
        diagnostics = Diagnostics(source)
    }

    /// - Throws: ``InvalidRules`` if there were errors.
    func finished() throws(InvalidRules) -> DatabaseRules {
        let found = diagnostics.all.sorted { $0.position < $1.position }
        guard diagnostics.errors == 0 else { throw InvalidRules(diagnostics: found) }
        return DatabaseRules(
            source: source, warnings: found, program: parser.program, nodes: nodes, rules: rules)
    }

    mutating func compileFile() {
        guard source.bytes.count <= RulesLimits.sourceBytes else {
            return diagnostics.error(
                0, "The file has \(source.bytes.count) bytes; \(RulesLimits.sourceBytes) is the limit.")
        }
        let file: DatabaseRulesFile
        do {
            var reader = DatabaseRulesReader(source)
            file = try reader.read()
        } catch { return diagnostics.error(error.offset, error.message) }
        guard case .object(let members) = file.value, let root = members.first(where: { $0.key.text == "rules" }) else {
            return diagnostics.error(file.offset, "Expected 'rules' property.")
        }
        for member in members where member.key.quote != root.key.quote {
            diagnostics.error(member.key.quote, "'\(shown(member.key))' is not expected beside 'rules'.")
        }
        compile(root.value, name: "", parent: nil)
        if diagnostics.errors == 0 { DatabaseRulesWarnings(nodes, rules, source).add(to: &diagnostics) }
    }

    private func shown(_ key: RulesFileString) -> String { String(key.text.prefix(100)) }

    // MARK: Nodes

    /// Recurses as deep as the reader does.
    private mutating func compile(_ file: DatabaseRulesFile, name: String, parent: Int?) {
        guard case .object(let members) = file.value else {
            return diagnostics.error(
                file.offset,
                parent == nil ? "'rules' must be an object." : "Expected an object with the rules of '\(name)'.")
        }
        let depth = parent.map { nodes[$0].depth + 1 } ?? 0
        guard depth <= RulesLimits.databaseDepth else {
            return diagnostics.error(
                file.offset, "No path has more than \(RulesLimits.databaseDepth) segments, so this is never reached.")
        }
        let index = nodes.count
        nodes.append(DatabaseRulesTreeNode(name: name, parent: parent, depth: depth))
        if let parent {
            if name.hasPrefix("$") {
                nodes[parent].wildcard = index
            } else {
                nodes[parent].children.append(name, index)
            }
        }
        if name.hasPrefix("$") { parser.captures.append((name, depth)) }
        defer { if name.hasPrefix("$") { parser.captures.removeLast() } }
        var known: Set<PatternText> = []
        for member in members {
            let key = member.key.text
            guard known.insert(PatternText(text: key)).inserted else {
                diagnostics.error(member.key.quote, "'\(shown(member.key))' is there twice.")
                continue
            }
            if key.hasPrefix(".") { compileRule(key, member, index) } else { compileChild(key, member, index) }
        }
        if nodes[index].validate != nil || nodes[index].validatesBelow, let parent {
            nodes[parent].validatesBelow = true
        }
    }

    private mutating func compileChild(_ key: String, _ member: DatabaseRulesFile.Member, _ index: Int) {
        let start = member.key.quote
        let isCapture = key.hasPrefix("$")
        guard DatabasePathText.isKey(isCapture ? String(key.dropFirst()) : key) else {
            return diagnostics.error(
                start,
                key.utf8.count > RulesLimits.databaseKeyBytes
                    ? "Key names have at most \(RulesLimits.databaseKeyBytes) bytes."
                    : ##"Key names can't be empty or contain ".", "#", "$", "/", "[", or "]" (unbound names start with "$")."##
            )
        }
        if isCapture {
            if let other = nodes[index].wildcard {
                return diagnostics.error(
                    start,
                    "'\(nodes[other].name)' stands for all other children already; a location has one name with $.")
            }
            if parser.captures.contains(where: { TextBytes.equal($0.name, key) }) {
                return diagnostics.error(
                    start, "'\(shown(member.key))' is above already; give each name of a path its own.")
            }
        }
        compile(member.value, name: key, parent: index)
    }

    // MARK: Rules

    private mutating func compileRule(_ key: String, _ member: DatabaseRulesFile.Member, _ index: Int) {
        if key == ".indexOn" {
            nodes[index].indexes = indexes(member.value)
            return
        }
        // What would be found after so many errors isn't reported.
        guard !diagnostics.isFull else { return }
        guard let kind = DatabaseRuleKind(rawValue: key) else {
            let hint = NearestName.of(key, in: [".read", ".write", ".validate", ".indexOn"])
            return diagnostics.error(
                member.key.quote,
                "'\(shown(member.key))' is not a rule"
                    + (hint.map { ". Did you mean '\($0)'?" } ?? "; there are .read, .write, .validate and .indexOn."))
        }
        var rule = DatabaseRule(
            kind: kind, node: index, position: source.position(of: member.key.quote),
            text: RulesFileString(bytes: [], start: member.value.offset))
        switch member.value.value {
        case .boolean(let value): (rule.literal, rule.constant) = (value, value)
        case .string(let text):
            rule.text = text
            parser.kind = kind
            do {
                let compiled = try parser.compile(text.bytes)
                rule.code = compiled.code
                rule.constant = compiled.constant
                if compiled.isLiteral { rule.literal = compiled.constant }
                for warning in parser.warnings {
                    diagnostics.warning(text.sourceOffset(of: warning.offset), warning.message)
                }
            } catch {
                return diagnostics.error(text.sourceOffset(of: error.offset), error.message)
            }
        default: return diagnostics.error(member.value.offset, "\(key) must be a string or a boolean.")
        }
        rules.append(rule)
        switch kind {
        case .read: nodes[index].read = rules.count - 1
        case .write: nodes[index].write = rules.count - 1
        case .validate: nodes[index].validate = rules.count - 1
        }
    }

    private mutating func indexes(_ file: DatabaseRulesFile) -> [DatabaseRulesIndex] {
        let elements: [DatabaseRulesFile]
        if case .array(let all) = file.value { elements = all } else { elements = [file] }
        var result: [DatabaseRulesIndex] = []
        for element in elements {
            guard case .string(let text) = element.value else {
                diagnostics.error(element.offset, ".indexOn must be a string or a list of strings.")
                continue
            }
            let path = DatabasePathText.segments(text.text)
            if text.text == ".value" {
                result.append(.value)
            } else if !path.isEmpty, path.count < RulesLimits.databaseDepth, path.allSatisfy(DatabasePathText.isKey) {
                result.append(.child(path))
            } else {
                diagnostics.error(text.start, "'\(shown(text))' is not the path of a child, nor .value.")
            }
        }
        return result
    }
}
