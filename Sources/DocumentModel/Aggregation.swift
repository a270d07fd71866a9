/// One number about the documents of a query.
public enum AggregateField: Hashable, Sendable {
    /// How many there are.
    ///
    /// - Parameter upTo: where counting may stop; the answer is never more.
    case count(upTo: Int?)
    /// The sum of the field's numbers: an integer while all are and it fits, else a double; 0 where there is none.
    case sum(FieldPath)
    /// The average of the field's numbers as a double; null where there is none.
    case average(FieldPath)

    /// How many one aggregation may have.
    public static let maxCount = 5

    /// The field whose numbers are wanted; nil of a count.
    public var field: FieldPath? {
        switch self {
        case .count: nil
        case .sum(let field), .average(let field): field
        }
    }
}
