import StorageEngine
import DocumentModel

extension QueryRoute {
    /// The indexes that the route reads, as in Firestore's explanations.
    var indexes: [QueryExplanation.IndexUse] {
        accesses.map { access in
            QueryExplanation.IndexUse(scope: access.scope, properties: access.words ?? "(__name__ ASC)")
        }
    }

    /// A short description of the route.
    var summary: String {
        let all = accesses.map { access in access.words.map { "index \($0)" } ?? "all documents" }
        return all.count == 1 ? all[0] : "the intersection of " + all.joined(separator: " and ")
    }

    /// The steps of the route.
    var steps: String {
        let places =
            switch target {
            case .collection(let collection): "collection \"\(collection)\""
            case .group(let id): "collection group \"\(id)\""
            }
        var parts = [(accesses[0].kind == .walk ? "walk " : "scan ") + summary + " of " + places]
        if ranges != [.all] { parts.append(ranges.count == 1 ? "in a range" : "in \(ranges.count) ranges") }
        if !residual.isEmpty {
            let conditions = Set(residual.map(\.field.description)).sorted().joined(separator: ", ")
            parts.append("check \(conditions) on each document")
        }
        if !isOrdered {
            let by = conjunction.orders.map(\.words).joined(separator: ", ")
            parts.append(delivered == 0 ? "sort by \(by) in memory" : "sort neighbours by \(by) in memory")
        }
        return parts.joined(separator: ", ")
    }
}

extension IndexAccess {
    /// Nil if the documents themselves are read, which are in the order of their names.
    fileprivate var words: String? {
        switch kind {
        case .walk: return nil
        case .automatic(let field, ofElements: true): return "(\(field) CONTAINS, __name__ ASC)"
        case .automatic(let field, ofElements: false): return "(\(field) ASC, __name__ ASC)"
        case .composite(let definition):
            let fields = definition.fields.map { "\($0.path) \($0.kind.words)" }
            return "(" + (fields + ["__name__ " + (definition.namesDescend ? "DESC" : "ASC")]).joined(separator: ", ")
                + ")"
        }
    }

    fileprivate var scope: String {
        if case .composite(let definition) = kind, definition.scope == .collectionGroup { return "Collection group" }
        return "Collection"
    }
}

extension IndexDefinition.Kind {
    fileprivate var words: String {
        switch self {
        case .ascending: "ASC"
        case .descending: "DESC"
        case .contains: "CONTAINS"
        }
    }
}

extension Query.Order {
    var words: String { "\(field) \(descending ? "DESC" : "ASC")" }
}
