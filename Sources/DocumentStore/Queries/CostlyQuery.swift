package import DocumentModel
import Synchronization

/// A query that read much more than it returned.
package struct CostlyQuery: Hashable, Sendable {
    /// Collection, fields and operators: never a value.
    package var shape: String
    package var cost: QueryExplanation.Cost
    /// The index that would save most of the reads, as in ``QueryExplanation/suggestedIndex``; nil if none would.
    package var suggestedIndex: String?
}

/// The queries that were reported lately: each shape once an hour.
final class CostlyQueryLog: Sendable {
    private static let maxShapes = 1000
    private static let maxShapeBytes = 1000
    private static let pause: Duration = .seconds(3600)
    private static let minReads = 1000
    private static let factor = 10

    private let reported = Mutex<[String: Duration]>([:])

    /// Whether a query read enough to be worth reporting, or was ended at a limit.
    static func isCostly(_ meter: QueryMeter, returned: Int) -> Bool {
        let most = max(meter.entries, meter.documents)
        return meter.isExceeded || (most > minReads && most > returned * factor)
    }

    /// A shape as it is reported: a very long one is truncated.
    static func cut(_ shape: String) -> String {
        shape.utf8.count <= maxShapeBytes ? shape : String(shape.prefix(maxShapeBytes / 4)) + "…"
    }

    /// Whether the shape is due to be reported; if so, it isn't due again for an hour.
    func isDue(_ shape: String, at now: Duration) -> Bool {
        reported.withLock { reported in
            if let last = reported[shape], now - last < Self.pause { return false }
            if reported.count >= Self.maxShapes { reported = reported.filter { now - $0.value < Self.pause } }
            if reported.count >= Self.maxShapes, reported[shape] == nil,
                let oldest = reported.min(by: { $0.value < $1.value })
            {
                reported[oldest.key] = nil
            }
            reported[shape] = now
            return true
        }
    }
}

extension Query {
    /// Collection, fields and operators, without any value.
    var shape: String {
        var words = [allDescendants ? "collection group \(collectionID)" : "collection \(collectionID)"]
        if let filter { words.append("where " + filter.shape) }
        if !orderBy.isEmpty { words.append("order by " + orderBy.map(\.words).joined(separator: ", ")) }
        if start != nil || end != nil { words.append("between cursors") }
        if offset > 0 { words.append("offset") }
        if limit != nil { words.append("limit") }
        return words.joined(separator: " ")
    }
}

extension Query.Filter {
    fileprivate var shape: String {
        switch self {
        case .and(let filters): "(" + filters.map(\.shape).joined(separator: " and ") + ")"
        case .or(let filters): "(" + filters.map(\.shape).joined(separator: " or ") + ")"
        case .field(let field, let comparison, _): "\(field) \(comparison.words)"
        case .unary(let field, let test): "\(field) \(test.words)"
        }
    }
}

extension Query.Operator {
    fileprivate var words: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .lessThan: "<"
        case .lessThanOrEqual: "<="
        case .greaterThan: ">"
        case .greaterThanOrEqual: ">="
        case .in: "in"
        case .notIn: "not-in"
        case .arrayContains: "array-contains"
        case .arrayContainsAny: "array-contains-any"
        }
    }
}

extension Query.UnaryOperator {
    fileprivate var words: String {
        switch self {
        case .isNull: "is null"
        case .isNotNull: "is not null"
        case .isNaN: "is NaN"
        case .isNotNaN: "is not NaN"
        }
    }
}
