import DocumentModel
import StrictJSON

/// An index with which a query would read only what it returns, in the form of `firestore.indexes.json`.
struct IndexSuggestion {
    private let target: QueryTarget
    private let fields: [IndexDefinition.Field]
    /// The existing indexes of the field, for an index with one field: an override replaces all of them.
    private var present: [(kind: IndexDefinition.Kind, scope: IndexDefinition.Scope)] = []

    /// - Returns: nil if no index would improve the plan.
    init?(_ plan: QueryPlan, _ catalog: IndexCatalog, isOrderWanted: Bool) {
        for part in plan.parts {
            guard var suggestion = Self(part, plan.query, isOrderWanted: isOrderWanted),
                !suggestion.exists(in: catalog)
            else { continue }
            if suggestion.fields.count == 1 { suggestion.notePresent(catalog) }
            self = suggestion
            return
        }
        return nil
    }

    private mutating func notePresent(_ catalog: IndexCatalog) {
        let path = fields[0].path
        let rules = catalog.of(collectionID)?.kept.rules(of: path) ?? FieldRules()
        if rules.isOrdered { present += [(.ascending, .collection), (.descending, .collection)] }
        if rules.hasElements { present.append((.contains, .collection)) }
        for index in catalog.of(collectionID)?.written ?? []
        where index.definition.scope == .collectionGroup && index.definition.fields.map(\.path) == [path] {
            present.append((index.definition.fields[0].kind, .collectionGroup))
        }
    }

    private init?(_ part: QueryPlan.Part, _ query: NormalizedQuery, isOrderWanted: Bool) {
        let conjunction = part.conjunction
        switch part.way {
        case .document: return nil
        case .route(let route):
            let lacksOrder = isOrderWanted && !route.isOrdered
            let isOnKeys = route.residual.allSatisfy(\.field.isDocumentID) && !route.checksFields
            guard lacksOrder || !isOnKeys || route.accesses.count > 1 else { return nil }
        case .smallest, .race: break
        }
        var fields = conjunction.equalities.filter { !$0.isElement }
            .map { IndexDefinition.Field($0.field, .ascending) }
        if let element = conjunction.equalities.first(where: \.isElement) {
            fields.append(IndexDefinition.Field(element.field, .contains))
        }
        // A field can occur only once in an index.
        for order in conjunction.orders
        where !order.field.isDocumentID && !fields.contains(where: { $0.path == order.field }) {
            // Only the first range reduces what is read; further ranges are checked on documents, with or without an
            // index.
            if order.field != conjunction.orders[0].field,
                conjunction.leaves.contains(where: { $0.field == order.field })
            {
                break
            }
            fields.append(IndexDefinition.Field(order.field, order.descending ? .descending : .ascending))
        }
        // An index on one field serves both directions.
        if fields.count == 1, fields[0].kind == .descending { fields[0].kind = .ascending }
        guard !fields.isEmpty else { return nil }
        self.fields = fields
        target = query.query.allDescendants ? .group(query.query.collectionID) : .collection(query.collection)
    }

    private var collectionID: String {
        switch target {
        case .collection(let collection): collection.id
        case .group(let id): id
        }
    }

    private var isGroup: Bool {
        if case .group = target { true } else { false }
    }

    private func exists(in catalog: IndexCatalog) -> Bool {
        if !isGroup, fields.count == 1 {
            let field = fields[0]
            return field.kind == .contains
                ? catalog.hasElements(field.path, collectionID: collectionID)
                : catalog.isOrdered(field.path, collectionID: collectionID)
        }
        return catalog.ready(isGroup ? .collectionGroup : .collection, collectionID: collectionID)
            .contains { $0.definition.fields == fields }
    }

    /// An element of `indexes`, or of `fieldOverrides` if the index has one field.
    var json: String {
        let scope = isGroup ? "COLLECTION_GROUP" : "COLLECTION"
        func mode(_ kind: IndexDefinition.Kind) -> String {
            switch kind {
            case .ascending: #""order":"ASCENDING""#
            case .descending: #""order":"DESCENDING""#
            case .contains: #""arrayConfig":"CONTAINS""#
            }
        }
        let collection = #""collectionGroup":\#(Self.quoted(collectionID))"#
        guard fields.count > 1 else {
            let field = fields[0]
            let own: IndexDefinition.Scope = isGroup ? .collectionGroup : .collection
            var all = present
            if !all.contains(where: { $0.kind == field.kind && $0.scope == own }) { all.append((field.kind, own)) }
            let indexes = all.map {
                #"{\#(mode($0.kind)),"queryScope":"\#($0.scope == .collection ? "COLLECTION" : "COLLECTION_GROUP")"}"#
            }
            return #"{\#(collection),"fieldPath":\#(Self.quoted(field.path.description)),"#
                + #""indexes":[\#(indexes.joined(separator: ","))]}"#
        }
        let parts = fields.map { #"{"fieldPath":\#(Self.quoted($0.path.description)),\#(mode($0.kind))}"# }
        return #"{\#(collection),"queryScope":"\#(scope)","fields":[\#(parts.joined(separator: ","))]}"#
    }

    private static func quoted(_ text: String) -> String {
        var json = JSONWriter()
        json.string(text)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
