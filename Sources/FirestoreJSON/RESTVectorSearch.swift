package import DocumentModel
package import StrictJSON

extension JSONNode {
    /// Reads a `StructuredQuery` below `parent`, and the `findNearest` in it.
    package func structuredSearch(parent: DocumentPath?) throws(JSONProblem) -> (query: Query, nearest: VectorSearch?) {
        let search = self["findNearest"]
        let query = try structuredQuery(parent: parent, hasNearest: search != nil)
        return (query, try search?.vectorSearch())
    }

    private func vectorSearch() throws(JSONProblem) -> VectorSearch {
        var field: FieldPath?
        var vector: Value?
        var measure: VectorSearch.Measure?
        var limit = 0
        var resultField: String?
        var threshold: Double?
        for member in try members() {
            let node = member.value
            switch member.key {
            case "vectorField": field = try node.fieldReference()
            case "queryVector": vector = try node.value()
            case "distanceMeasure":
                measure = VectorSearch.Measure(
                    rawValue: try node.choice(["DISTANCE_MEASURE_UNSPECIFIED", "EUCLIDEAN", "COSINE", "DOT_PRODUCT"]))
                guard measure != nil else {
                    throw node.problem("\(node.summary) is not EUCLIDEAN, COSINE or DOT_PRODUCT")
                }
            case "limit": limit = try node.limit() ?? 0
            case "distanceResultField": resultField = try node.string()
            case "distanceThreshold": threshold = try node.wrappedDouble()
            default: throw member.unknown
            }
        }
        guard let field else { throw problem("findNearest needs its vectorField") }
        guard let vector else { throw problem("findNearest needs its queryVector") }
        guard let measure else { throw problem("findNearest needs its distanceMeasure") }
        do throws(DocumentError) {
            return try VectorSearch(
                field: field, vector: vector, measure: measure, limit: limit,
                resultField: resultField?.isEmpty ?? true ? nil : resultField, threshold: threshold)
        } catch {
            throw problem(error.message)
        }
    }

    /// A number, or the wrapper `{"value": 0.5}` that some clients send.
    private func wrappedDouble() throws(JSONProblem) -> Double {
        guard case .object = kind else { return try double() }
        guard let value = self["value"] else { throw problem("a wrapped number needs its value") }
        return try value.double()
    }
}

extension JSONWriter {
    mutating func vectorSearch(_ search: VectorSearch) {
        raw("{\"vectorField\":")
        fieldReference(search.field)
        raw(",\"queryVector\":")
        value(Value.vector(search.vector))
        raw(",\"distanceMeasure\":")
        string(search.measure.rawValue)
        raw(",\"limit\":")
        integer(search.limit)
        if let field = search.resultField {
            raw(",\"distanceResultField\":")
            string(field)
        }
        if let threshold = search.threshold {
            raw(",\"distanceThreshold\":")
            number(threshold)
        }
        raw("}")
    }
}
