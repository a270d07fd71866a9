package import DocumentModel
package import StrictJSON

/// Queries in Firestore's JSON format.
extension JSONNode {
    /// Reads a `StructuredQuery` below `parent`; at the root if that is nil.
    package func structuredQuery(parent: DocumentPath?) throws(JSONProblem) -> Query {
        try structuredQuery(parent: parent, hasNearest: false)
    }

    /// - Parameter hasNearest: whether a `findNearest` is expected, and read by the caller.
    func structuredQuery(parent: DocumentPath?, hasNearest: Bool) throws(JSONProblem) -> Query {
        var query: Query?
        let members = try members()
        for member in members where member.key == "from" {
            query = try member.value.from(parent: parent)
        }
        guard var query else { throw problem("a query needs \"from\" with one collection") }
        for member in members {
            let node = member.value
            switch member.key {
            case "from": break
            case "where": query.filter = try node.filter()
            case "orderBy":
                for element in try node.elements() { query.orderBy.append(try element.order()) }
            case "startAt": query.start = try node.cursor()
            case "endAt": query.end = try node.cursor()
            case "offset": query.offset = try node.count()
            case "limit": query.limit = try node.limit()
            case "select": query.projection = try node.projection()
            case "findNearest":
                guard hasNearest else {
                    throw JSONProblem(offset: member.offset, message: "findNearest is only possible with runQuery")
                }
            default: throw member.unknown
            }
        }
        return query
    }

    private func from(parent: DocumentPath?) throws(JSONProblem) -> Query {
        let selectors = try elements()
        guard let selector = selectors.first, selectors.count == 1 else {
            throw problem("\"from\" must name one collection, not \(selectors.count)")
        }
        var query = Query(parent: parent, collectionID: "")
        for member in try selector.members() {
            switch member.key {
            case "collectionId":
                let id = try member.value.string()
                guard !id.isEmpty else { continue }
                do throws(DocumentError) {
                    let path = try CollectionPath(id)
                    guard path.parent == nil else {
                        throw DocumentError.invalidArgument("a collection id must not contain a slash")
                    }
                } catch {
                    throw member.value.problem(error.message)
                }
                query.collectionID = id
            case "allDescendants": query.allDescendants = try member.value.boolean()
            default: throw member.unknown
            }
        }
        guard !query.collectionID.isEmpty || query.allDescendants else {
            throw selector.problem(
                "a collection needs its collectionId; allDescendants alone stands for all collections")
        }
        return query
    }

    private func order() throws(JSONProblem) -> Query.Order {
        var field: FieldPath?
        var descending = false
        for member in try members() {
            switch member.key {
            case "field": field = try member.value.fieldReference()
            case "direction":
                switch try member.value.choice(["DIRECTION_UNSPECIFIED", "ASCENDING", "DESCENDING"]) {
                case "ASCENDING", "DIRECTION_UNSPECIFIED": descending = false
                case "DESCENDING": descending = true
                default: throw member.value.problem("\(member.value.summary) is neither ASCENDING nor DESCENDING")
                }
            default: throw member.unknown
            }
        }
        guard let field else { throw problem("an order needs field") }
        return Query.Order(field, descending: descending)
    }

    private func cursor() throws(JSONProblem) -> Query.Cursor {
        var cursor = Query.Cursor(values: [], before: false)
        for member in try members() {
            switch member.key {
            case "values":
                for element in try member.value.elements() { cursor.values.append(try element.value()) }
            case "before": cursor.before = try member.value.boolean()
            default: throw member.unknown
            }
        }
        return cursor
    }

    /// Reads an integer, or the wrapper `{"value": 10}` that some clients send.
    func limit() throws(JSONProblem) -> Int? {
        guard case .object = kind else { return try count() }
        var limit: Int?
        for member in try members() {
            guard member.key == "value" else { throw member.unknown }
            limit = try member.value.count()
        }
        return limit
    }

    private func count() throws(JSONProblem) -> Int {
        guard let count = Int32(exactly: try integer()), count >= 0 else {
            throw problem("\(summary) is not 0 … 2147483647")
        }
        return Int(count)
    }

    /// Reads the selected fields. As with Firestore, an empty selection means all fields.
    private func projection() throws(JSONProblem) -> [FieldPath]? {
        var fields: [FieldPath] = []
        for member in try members() {
            guard member.key == "fields" else { throw member.unknown }
            for element in try member.value.elements() { fields.append(try element.fieldReference()) }
        }
        return fields.isEmpty ? nil : fields
    }
}

extension JSONWriter {
    /// Writes a `StructuredQuery`; its parent is in the URL. With an empty collection id it covers all collections.
    ///
    /// - Parameter search: the `findNearest` in it.
    package mutating func structuredQuery(_ query: Query, nearest search: VectorSearch? = nil) {
        raw("{\"from\":[{")
        if !query.collectionID.isEmpty {
            raw("\"collectionId\":")
            string(query.collectionID)
            if query.allDescendants { raw(",") }
        }
        if query.allDescendants { raw("\"allDescendants\":true") }
        raw("}]")
        if let filter = query.filter {
            raw(",\"where\":")
            self.filter(filter)
        }
        if !query.orderBy.isEmpty {
            raw(",\"orderBy\":")
            array(query.orderBy) { $0.order($1) }
        }
        if let start = query.start {
            raw(",\"startAt\":")
            cursor(start)
        }
        if let end = query.end {
            raw(",\"endAt\":")
            cursor(end)
        }
        if query.offset > 0 {
            raw(",\"offset\":")
            integer(query.offset)
        }
        if let limit = query.limit {
            raw(",\"limit\":")
            integer(limit)
        }
        if let fields = query.projection {
            raw(",\"select\":{\"fields\":")
            array(fields) { $0.fieldReference($1) }
            raw("}")
        }
        if let search {
            raw(",\"findNearest\":")
            vectorSearch(search)
        }
        raw("}")
    }

    private mutating func order(_ order: Query.Order) {
        raw("{\"field\":")
        fieldReference(order.field)
        order.descending ? raw(",\"direction\":\"DESCENDING\"}") : raw(",\"direction\":\"ASCENDING\"}")
    }

    private mutating func cursor(_ cursor: Query.Cursor) {
        raw("{\"values\":")
        array(cursor.values) { $0.value($1) }
        cursor.before ? raw(",\"before\":true}") : raw("}")
    }
}
