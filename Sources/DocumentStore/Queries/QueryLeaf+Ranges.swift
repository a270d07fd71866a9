import StorageEngine
import DocumentModel

extension QueryLeaf {
    /// The key ranges of matching values, in ascending order.
    ///
    /// - Returns: nil if the condition can't be expressed as ranges; `isExact` is false if they contain other values
    ///   too.
    var valueRanges: (ranges: [KeyRange], isExact: Bool)? {
        switch test {
        case .null, .nan, .compare(.equal, _), .compare(.arrayContains, _): return nil
        case .notNull: return ([Self.notNull], true)
        case .notNaN: return Self.all(but: [.double(.nan)])
        // If null is excluded, nothing matches.
        case .none(let values): return values.contains(.null) ? ([], true) : Self.all(but: values)
        case .compare(.notEqual, let value): return Self.all(but: [value])
        case .compare(let comparison, let value):
            let (key, truncated) = ValueKey.indexed(value)
            let point = KeyRange(prefix: key)
            var range = KeyRange(prefix: [ValueKey.prefix(of: value.valueClass)])
            // Equal bytes of a cut value may be on either side of the bound.
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

    /// All values except null and the given ones.
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
