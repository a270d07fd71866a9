import DocumentModel

/// A transform's new value of a field, and the result that its writer receives.
enum ModelTransforms {
    static func apply(
        _ operation: FieldTransform.Operation, to current: Value?, at time: Timestamp
    ) -> (value: Value, result: Value) {
        switch operation {
        case .serverTimestamp:
            let milliseconds = time.nanoseconds / 1_000_000
            let value = Value.timestamp(Timestamp(seconds: time.seconds, nanoseconds: milliseconds * 1_000_000))
            return (value, value)
        case .increment(let operand):
            let sum = sum(current, operand)
            return (sum, sum)
        case .maximum(let operand):
            let value = extreme(current, operand) { ModelOrder.compare($0, $1) > 0 }
            return (value, value)
        case .minimum(let operand):
            let value = extreme(current, operand) { ModelOrder.compare($0, $1) < 0 }
            return (value, value)
        case .arrayUnion(let additions):
            var elements = elements(current)
            for addition in additions where !elements.contains(where: { ModelOrder.equal($0, addition) }) {
                elements.append(addition)
            }
            return (.array(elements), .null)
        case .arrayRemove(let removals):
            let left = elements(current).filter { element in
                !removals.contains { ModelOrder.equal($0, element) }
            }
            return (.array(left), .null)
        }
    }

    private static func sum(_ current: Value?, _ operand: Value) -> Value {
        guard let current, ModelOrder.isNumber(current) else { return operand }
        if case .integer(let a) = current, case .integer(let b) = operand {
            return .integer(Int64(clamping: Int128(a) + Int128(b)))
        }
        return .double(double(current) + double(operand))
    }

    /// Of equal ones the present stays; NaN beats all.
    private static func extreme(_ current: Value?, _ operand: Value, _ beats: (Value, Value) -> Bool) -> Value {
        guard let current, ModelOrder.isNumber(current) else { return operand }
        if double(current).isNaN { return current }
        if double(operand).isNaN { return operand }
        return beats(operand, current) ? operand : current
    }

    static func double(_ value: Value) -> Double {
        switch value {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: 0
        }
    }

    private static func elements(_ value: Value?) -> [Value] {
        guard case .array(let elements) = value else { return [] }
        return elements
    }
}
