package import DocumentModel

extension ModelQuery {
    /// Numbers about the query's documents; those count that have all fields which are summed up or averaged.
    package func aggregate(_ fields: [AggregateField], in state: ModelState) -> [Value] {
        var whole = query
        whole.projection = nil
        let documents = ModelQuery(whole).run(in: state, having: fields.compactMap(\.field))
        return fields.map { field in
            switch field {
            case .count(let bound): return .integer(Int64(min(documents.count, bound ?? .max)))
            case .sum(let path): return Self.sum(Self.numbers(documents, path))
            case .average(let path):
                let numbers = Self.numbers(documents, path)
                guard !numbers.isEmpty else { return .null }
                return .double(numbers.reduce(0) { $0 + ModelTransforms.double($1) } / Double(numbers.count))
            }
        }
    }

    private static func numbers(_ documents: [Document], _ field: FieldPath) -> [Value] {
        documents.compactMap { ModelFields.value($0.fields, field.segments) }.filter(ModelOrder.isNumber)
    }

    private static func sum(_ numbers: [Value]) -> Value {
        var whole: Int128 = 0
        for number in numbers {
            guard case .integer(let number) = number else {
                return .double(numbers.reduce(0) { $0 + ModelTransforms.double($1) })
            }
            whole += Int128(number)
        }
        return Int64(exactly: whole).map(Value.integer) ?? .double(Double(whole))
    }

    /// By how much adding up in another order may make a difference.
    package func slack(of fields: [AggregateField], in state: ModelState) -> Double {
        let paths = fields.compactMap(\.field)
        var whole = query
        whole.projection = nil
        let documents = ModelQuery(whole).run(in: state, having: paths)
        let sums = paths.map { path in
            Self.numbers(documents, path).map { abs(ModelTransforms.double($0)) }.filter(\.isFinite).reduce(0, +)
        }
        return (sums.max() ?? 0) * Double(documents.count) * .ulpOfOne
    }

    /// Whether two values of an aggregation are the same but for what adding up in another order leaves.
    package static func isSame(_ a: Value, _ b: Value, slack: Double = 0) -> Bool {
        guard case .double(let a) = a, case .double(let b) = b else { return a == b }
        return a == b || (a.isNaN && b.isNaN) || abs(a - b) <= max(slack, 1e-9 * max(abs(a), abs(b)))
    }
}
