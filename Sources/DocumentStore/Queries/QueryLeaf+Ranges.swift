import StorageEngine
import DocumentModel

extension QueryLeaf {
    /// Where the keys of values that pass are, in ascending order.
    ///
    /// - Returns: nil for a condition that is no range; `isExact` is false where others are there too.
    var valueRanges: (ranges: [KeyRange], isExact: Bool)? {
        switch test {
        case .null, .nan, .compare(.equal, _), .compare(.arrayContains, _): return nil
        case .notNull: return ([Self.notNull], true)
        case .notNaN: return Self.all(but: [.double(.nan)])
        // Nothing is known not to be null.
        case .none(let values): return values.contains(.null) ? ([], true) : Self.all(but: values)
        case .compare(.notEqual, let value): return Self.all(but: [value])
        case .compare(let comparison, let value):
            let (key, truncated) = ValueKey.indexed(value)
            let point = KeyRange(prefix: key)
            var range = KeyRange(prefix: [ValueKey.prefix(of: value.valueClass)])
            // Equal bytes of a cut value may stand for either side.
            switch comparison {
            case .lessThan: range.upper = truncated ? point.upper : point.lower
            case .lessThanOrEqual: range.upper = point.upper
            case .greaterThan: range.lower = truncated ? point.lower : point.upper ?? point.lower
            default: range.lower = point.lower
            }
            return (range.isEmpty ? [] : [range], !truncated)
        }
    }

    private static let notNull = KeyRange(lower: [ValueKey.prefix(of: .null) + 1], upper: nil)

    /// Neither null nor one of some values.
    private static func all(but values: [Value]) -> (ranges: [KeyRange], isExact: Bool) {
        var ranges = [notNull]
        var isExact = true
        for value in values {
            let (key, truncated) = ValueKey.indexed(value)
            if truncated { isExact = false } else { ranges = ranges.subtracting(KeyRange(prefix: key)) }
        }
        return (ranges, isExact)
    }
}
