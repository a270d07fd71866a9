public import DocumentModel

/// Aggregates over a query's documents, computed in the store.
public struct AggregateQuery: Sendable {
    public let query: Query
    public let fields: [AggregateField]

    init(_ query: Query, _ fields: [AggregateField]) {
        self.query = query
        self.fields = fields
    }

    /// Computes the aggregates.
    ///
    /// - Throws: `DocumentError` with `invalidArgument` if there are no fields, more than five, or duplicates.
    public func getAggregation() async throws(DocumentError) -> AggregateQuerySnapshot {
        let (model, fields) = try resolved()
        return snapshot(try await query.firestore.transport.aggregate(model, fields))
    }

    /// Explains how the aggregates are computed, and the cost if they are.
    ///
    /// - Parameter analyze: Whether to compute them; otherwise the result has neither a cost nor a snapshot.
    public func explain(analyze: Bool = false) async throws(DocumentError) -> ExplainResults<AggregateQuerySnapshot> {
        let (model, fields) = try resolved()
        let answer = try await query.firestore.transport.explain(model, fields, analyze: analyze)
        return ExplainResults(metrics: answer.explanation, snapshot: analyze ? snapshot(answer.values) : nil)
    }

    func resolved() throws(DocumentError) -> (DocumentModel.Query, [DocumentModel.AggregateField]) {
        guard (1...DocumentModel.AggregateField.maxCount).contains(fields.count), Set(fields).count == fields.count
        else {
            throw .invalidArgument(
                "aggregate requires 1 to \(DocumentModel.AggregateField.maxCount) different fields, not \(fields.count)"
            )
        }
        var models: [DocumentModel.AggregateField] = []
        for field in fields { models.append(try field.resolved()) }
        // The end that a limit counts from matters, but the order of counted documents doesn't.
        return (try query.resolved().model, models)
    }

    func snapshot(_ values: [Value]) -> AggregateQuerySnapshot {
        AggregateQuerySnapshot(values: Dictionary(zip(fields, values)) { first, _ in first })
    }
}

/// The results of an ``AggregateQuery``.
public struct AggregateQuerySnapshot: Sendable, Hashable {
    let values: [AggregateField: Value]

    /// The number of documents; nil if it wasn't requested.
    public var count: Int? {
        guard case .integer(let count)? = get(.count()) else { return nil }
        return Int(count)
    }

    /// The value of a requested aggregate, nil for others; the average of no numbers is null.
    public func get(_ field: AggregateField) -> Value? { values[field] }

    /// The value of a requested aggregate as a double, nil for others; the average of no numbers is nil too.
    public func double(_ field: AggregateField) -> Double? {
        switch get(field) {
        case .integer(let number)?: Double(number)
        case .double(let number)?: number
        default: nil
        }
    }
}

extension Queryable {
    /// The number of documents: `try await users.count.getAggregation().count`.
    public var count: AggregateQuery { aggregate([.count()]) }

    /// Aggregates over the documents, at most five in one query: `users.aggregate([.count(), .average("age")])`.
    public func aggregate(_ fields: [AggregateField]) -> AggregateQuery { AggregateQuery(query, fields) }
}
