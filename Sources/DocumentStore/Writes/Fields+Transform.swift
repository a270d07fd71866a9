import DocumentModel

extension FieldTransform {
    /// - Throws: `invalidArgument` if the operand has the wrong type.
    func check() throws(DocumentError) {
        try field.check(isTransformed: true)
        switch operation {
        case .increment(let operand), .maximum(let operand), .minimum(let operand):
            guard operand.valueClass == .number else {
                throw .invalidArgument("a transform of \"\(field)\" needs a number")
            }
        case .serverTimestamp, .arrayUnion, .arrayRemove: break
        }
    }

    var isOfArray: Bool {
        switch operation {
        case .arrayUnion, .arrayRemove: true
        case .serverTimestamp, .increment, .maximum, .minimum: false
        }
    }

    /// The field's value after the transform, and the result that the client receives.
    func apply(to current: Value?, at time: Timestamp) -> (value: Value, result: Value) {
        switch operation {
        case .serverTimestamp: return (.timestamp(time), .timestamp(time))
        case .increment(let operand):
            let sum = Self.add(current, operand)
            return (sum, sum)
        case .maximum(let operand): return extreme(current, operand, keeping: .descending)
        case .minimum(let operand): return extreme(current, operand, keeping: .ascending)
        case .arrayUnion(let additions):
            var elements = Self.elements(current)
            var known = Set(elements.lazy.map(EquivalentValue.init))
            for addition in additions.map(\.truncatedToMicroseconds)
            where known.insert(EquivalentValue(addition)).inserted {
                elements.append(addition)
            }
            return (.array(elements), .null)
        case .arrayRemove(let removals):
            let removed = Set(removals.lazy.map { EquivalentValue($0.truncatedToMicroseconds) })
            return (.array(Self.elements(current).filter { !removed.contains(EquivalentValue($0)) }), .null)
        }
    }

    /// The operand replaces a value that isn't a number; of equal numbers the current one stays. NaN always wins.
    private func extreme(_ current: Value?, _ operand: Value, keeping kept: ValueOrder) -> (Value, Value) {
        guard let current, current.valueClass == .number else { return (operand, operand) }
        let nan = Value.double(.nan)
        let order = Value.compare(current, operand)
        let keeps =
            Value.equivalent(current, nan)
            || (!Value.equivalent(operand, nan) && (order == .same || order == kept))
        let value = keeps ? current : operand
        return (value, value)
    }

    private static func add(_ current: Value?, _ operand: Value) -> Value {
        switch (current, operand) {
        case (.integer(let a), .integer(let b)):
            let (sum, overflows) = a.addingReportingOverflow(b)
            return .integer(overflows ? (b < 0 ? .min : .max) : sum)
        case (.integer(let a), .double(let b)): return .double(Double(a) + b)
        case (.double(let a), .integer(let b)): return .double(a + Double(b))
        case (.double(let a), .double(let b)): return .double(a + b)
        default: return operand
        }
    }

    private static func elements(_ value: Value?) -> [Value] {
        guard case .array(let elements) = value else { return [] }
        return elements
    }
}
