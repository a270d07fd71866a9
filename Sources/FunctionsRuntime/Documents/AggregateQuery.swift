public import DocumentModel

/// Numbers about the documents of a query, computed where the documents are.
public struct AggregateQuery: Sendable {
    public let query: Query
    public let fields: [AggregateField]

    init(_ query: Query, _ fields: [AggregateField]) {
        self.query = query
        self.fields = fields
    }

    /// Computes the numbers.
    ///
    /// - Throws: ``DocumentError`` with `invalidArgument` where there is no field, one twice, or more than five.
    public func getAggregation() async throws(DocumentError) -> AggregateQuerySnapshot {
        let (model, fields) = try resolved()
        return snapshot(try await query.firestore.transport.aggregate(model, fields))
    }

    /// Says how the numbers are computed, and what that costs where it is done.
    ///
    /// - Parameter analyze: whether they are computed too; else the answer has neither a cost nor a snapshot.
    public func explain(analyze: Bool = false) async throws(DocumentError) -> ExplainResults<AggregateQuerySnapshot> {
        let (model, fields) = try resolved()
        let answer = try await query.firestore.transport.explain(model, fields, analyze: analyze)
        return ExplainResults(metrics: answer.explanation, snapshot: analyze ? snapshot(answer.values) : nil)
    }

    func resolved() throws(DocumentError) -> (DocumentModel.Query, [DocumentModel.AggregateField]) {
        guard (1...DocumentModel.AggregateField.maxCount).contains(fields.count), Set(fields).count == fields.count
        else {
            throw .invalidArgument(
                "aggregate takes 1 to \(DocumentModel.AggregateField.maxCount) fields, each once, not \(fields.count)")
        }
        var models: [DocumentModel.AggregateField] = []
        for field in fields { models.append(try field.resolved()) }
        // Which end a limit counts from matters, the order of what is counted doesn't.
        return (try query.resolved().model, models)
    }

    func snapshot(_ values: [Value]) -> AggregateQuerySnapshot {
        AggregateQuerySnapshot(values: Dictionary(zip(fields, values)) { first, _ in first })
    }
}

/// The numbers that an ``AggregateQuery`` found.
public struct AggregateQuerySnapshot: Sendable, Hashable {
    let values: [AggregateField: Value]

    /// How many documents there are; nil where that wasn't asked for.
    public var count: Int? {
        guard case .integer(let count)? = get(.count()) else { return nil }
        return Int(count)
    }

    /// The number of a field that was asked for, nil of another; the average of no numbers is null.
    public func get(_ field: AggregateField) -> Value? { values[field] }

    /// The number of a field as a double, nil of another; the average of no numbers is nil too.
    public func double(_ field: AggregateField) -> Double? {
        switch get(field) {
        case .integer(let number)?: Double(number)
        case .double(let number)?: number
        default: nil
        }
    }
}

extension Queryable {
    /// How many documents there are: `try await users.count.getAggregation().count`.
    public var count: AggregateQuery { aggregate([.count()]) }

    /// Numbers about the documents, at most five at a time: `users.aggregate([.count(), .average("age")])`.
    public func aggregate(_ fields: [AggregateField]) -> AggregateQuery { AggregateQuery(query, fields) }
}
