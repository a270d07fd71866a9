/// An aggregate value over the documents of a query.
public enum AggregateField: Hashable, Sendable {
    /// The number of documents.
    ///
    /// - Parameter upTo: The number at which counting stops; the result is never greater.
    case count(upTo: Int?)
    /// The sum of the field's numbers: an integer if all are integers and the sum fits, otherwise a double; 0 if there
    /// are no numbers.
    case sum(FieldPath)
    /// The average of the field's numbers as a double; null if there are no numbers.
    case average(FieldPath)

    /// The maximum number of aggregates in one query.
    public static let maxCount = 5

    /// The aggregated field; nil for a count.
    public var field: FieldPath? {
        switch self {
        case .count: nil
        case .sum(let field), .average(let field): field
        }
    }
}
