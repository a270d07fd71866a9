/// What is doubtful in rules that can be used.
struct DatabaseRulesWarnings {
    private let nodes: [DatabaseRulesTreeNode]
    private let rules: [DatabaseRule]
    private let source: SourceText

    init(_ nodes: [DatabaseRulesTreeNode], _ rules: [DatabaseRule], _ source: SourceText) {
        self.nodes = nodes
        self.rules = rules
        self.source = source
    }

    func add(to diagnostics: inout Diagnostics) {
        // A node comes after those above it.
        var above: [(read: Above, write: Above)] = []
        for node in nodes {
            let parent = node.parent.map { above[$0] } ?? (read: Above(), write: Above())
            above.append(
                (
                    check(node, node.read, parent.read, &diagnostics),
                    check(node, node.write, parent.write, &diagnostics)
                ))
        }
    }

    /// The rules of one kind above a node, and its own.
    private struct Above {
        /// The nearest that is always true.
        var always: Int?
        /// The nearest that may be true.
        var sometimes: Int?
    }

    private func path(_ node: DatabaseRulesTreeNode) -> String {
        var names: [String] = []
        var place: DatabaseRulesTreeNode? = node
        while let next = place, next.parent != nil {
            names.append(next.name)
            place = next.parent.map { nodes[$0] }
        }
        return "/" + names.reversed().joined(separator: "/")
    }

    /// Whether only names with `$` lead to a node: then it stands for the whole database. A place with a name of its own is often
    /// meant to be read by everybody.
    private func isUnnamed(_ node: DatabaseRulesTreeNode) -> Bool {
        var place: DatabaseRulesTreeNode? = node
        while let next = place, next.parent != nil {
            guard next.name.hasPrefix("$") else { return false }
            place = next.parent.map { nodes[$0] }
        }
        return true
    }

    private func name(_ index: Int) -> String {
        let rule = rules[index]
        return "'\(rule.kind.rawValue)' of \(path(nodes[rule.node])) (\(rule.position))"
    }

    private func check(
        _ node: DatabaseRulesTreeNode, _ index: Int?, _ above: Above, _ diagnostics: inout Diagnostics
    ) -> Above {
        guard let index else { return above }
        let rule = rules[index]
        let offset = rule.text.start
        if let always = above.always {
            diagnostics.warning(
                offset,
                rule.constant == true
                    ? "\(name(always)) grants this already."
                    : "This takes nothing away: \(name(always)) grants it to everybody, also here and below.")
            return above
        }
        switch rule.constant {
        case false:
            if let sometimes = above.sometimes {
                diagnostics.warning(
                    offset,
                    "A false here takes nothing away: what \(name(sometimes)) grants is granted here and below, too.")
            }
            return above
        case true:
            if rule.kind == .write {
                diagnostics.warning(offset, "Everybody may write \(path(node)) and all that is below.")
            } else if node.parent == nil {
                diagnostics.warning(offset, "Everybody may read the whole database.")
            } else if isUnnamed(node) {
                diagnostics.warning(offset, "Everybody may read \(path(node)) and all that is below.")
            }
            return Above(always: index, sometimes: index)
        default: return Above(always: nil, sometimes: index)
        }
    }
}
