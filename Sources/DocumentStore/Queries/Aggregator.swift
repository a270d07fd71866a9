import DocumentModel

/// The running results of an aggregation.
struct Aggregator {
    let fields: [AggregateField]
    /// The fields whose numbers are needed, each once. A document without one of them doesn't count.
    let summed: [FieldPath]
    private var count = 0
    private var sums: [NumberSum]

    init(_ fields: [AggregateField]) {
        self.fields = fields
        var summed: [FieldPath] = []
        for field in fields.compactMap(\.field) where !summed.contains(field) { summed.append(field) }
        self.summed = summed
        sums = summed.map { _ in NumberSum() }
    }

    /// - Throws: `invalidArgument` if the aggregation is invalid.
    static func check(_ fields: [AggregateField]) throws(DocumentError) {
        guard (1...AggregateField.maxCount).contains(fields.count) else {
            throw .invalidArgument(
                "an aggregation has 1 to \(AggregateField.maxCount) numbers, the limit, and this one has \(fields.count)"
            )
        }
        for field in fields {
            switch field {
            case .count(let bound):
                guard bound ?? 0 >= 0 else {
                    throw .invalidArgument(
                        "a count's upper bound must not be negative, and this one is \(bound ?? 0)")
                }
            case .sum(let field), .average(let field):
                guard !field.isDocumentID else {
                    throw .invalidArgument("__name__ isn't a number, so it has no sum or average")
                }
                try QueryLeaf.check(field)
            }
        }
    }

    /// The number of documents after which all results are final; nil if every document counts.
    var enough: Int? {
        guard summed.isEmpty else { return nil }
        var most = 0
        for case .count(let bound) in fields {
            guard let bound else { return nil }
            most = max(most, bound)
        }
        return most
    }

    mutating func add(count more: Int) { count += more }

    mutating func add(_ document: Document) {
        count += 1
        for (index, field) in summed.enumerated() {
            if let value = document[field] { sums[index].add(value) }
        }
    }

    /// Adds a document of which only the one needed number is known; nil if the field has another kind of value.
    mutating func add(number: Value?) {
        count += 1
        if let number { sums[0].add(number) }
    }

    /// Removes documents that an offset skips, and those after a limit, from a count.
    mutating func clamp(offset: Int, limit: Int?) {
        count = max(0, count - offset)
        if let limit { count = min(count, limit) }
    }

    /// One for each aggregation field.
    var values: [Value] {
        fields.map { field in
            switch field {
            case .count(let bound): .integer(Int64(min(count, bound ?? .max)))
            case .sum(let field): sum(field).value
            case .average(let field): sum(field).average
            }
        }
    }

    private func sum(_ field: FieldPath) -> NumberSum { summed.firstIndex(of: field).map { sums[$0] } ?? NumberSum() }
}
