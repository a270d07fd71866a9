import DocumentModel

extension Evaluator {
    mutating func unary(_ operation: Instruction.Operation, _ value: RuleValue, _ place: Int) -> RuleValue {
        switch (operation, value) {
        case (_, .error): value
        case (_, .unknown): .unknown(.other)
        case (.not, .bool(let value)): .bool(!value)
        case (.negate, .int(let value)):
            value == .min ? error("-\(value) is larger than the largest integer", place) : .int(-value)
        case (.negate, .float(let value)): .float(-value)
        case (.negate, .duration(let value)):
            .duration(RuleDuration(seconds: -value.seconds, nanoseconds: -value.nanoseconds))
        default: error("\(operation == .not ? "!" : "-")\(value.type) isn't possible", place)
        }
    }

    /// `a && b` and `a || b`: an operand that decides alone makes an error of the other one meaningless.
    mutating func connect(
        _ operation: Instruction.Operation, _ left: RuleValue, _ right: RuleValue, _ place: Int
    ) -> RuleValue {
        let deciding = operation == .or
        if case .bool(deciding) = left { return left }
        if case .bool(deciding) = right { return right }
        if case .bool = left, case .bool = right { return right }
        if let failed = Self.failed([left, right]) { return failed }
        let operand = if case .bool = left { right } else { left }
        return error("an operand of \(deciding ? "||" : "&&") is of type \(operand.type), not bool", place)
    }

    mutating func binary(
        _ operation: Instruction.Operation, _ left: RuleValue, _ right: RuleValue, _ place: Int
    ) -> RuleValue {
        if case .error = left { return left }
        if case .error = right { return right }
        if case .unknown(let unknown) = left { return compare(unknown, operation, right) }
        if case .unknown(let unknown) = right { return compare(unknown, Self.mirrored(operation), left) }
        if let error = compare(left, right, place) { return error }
        switch operation {
        case .equal: return .bool(RuleValue.equal(left, right))
        case .notEqual: return .bool(!RuleValue.equal(left, right))
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard let order = RuleValue.order(left, right) else { return impossible(operation, left, right, place) }
            switch operation {
            case .less: return .bool(order == .less)
            case .lessOrEqual: return .bool(order == .less || order == .equal)
            case .greater: return .bool(order == .greater)
            default: return .bool(order == .greater || order == .equal)
            }
        default: return arithmetic(operation, left, right, place)
        }
    }

    /// Pays for comparing two values.
    ///
    /// - Returns: an error if they are too large.
    private mutating func compare(_ left: RuleValue, _ right: RuleValue, _ place: Int) -> RuleValue? {
        switch (left, right) {
        // They aren't equal, whatever is in them.
        case (.set(let left), .set(let right)) where left.count != right.count: return nil
        case (.string, .string), (.bytes, .bytes), (.list, _), (.storedList, _), (.map, _), (.storedMap, _),
            (.set, .set), (.mapDiff, _), (.path, .path), (.vector, .vector):
            var left_ = work
            let isPayable = left.count(into: &left_, depth: RulesLimits.nesting + 20, isCompared: true)
            return spend(isPayable ? work - left_ : .max, place)
        default: return nil
        }
    }

    private static func mirrored(_ operation: Instruction.Operation) -> Instruction.Operation {
        switch operation {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: operation
        }
    }

    private func compare(
        _ unknown: UnknownValue, _ operation: Instruction.Operation, _ value: RuleValue
    ) -> RuleValue {
        if case .unknown = value { return .unknown(.other) }
        switch (unknown, operation, value) {
        case (.field(let path), _, _):
            return facts?.compare(path, operation, value).map { .bool($0) } ?? .unknown(.other)
        // Each document that a query returns exists.
        case (.resource, .equal, .null): return .bool(false)
        case (.resource, .notEqual, .null): return .bool(true)
        default: return .unknown(.other)
        }
    }

    private mutating func impossible(
        _ operation: Instruction.Operation, _ left: RuleValue, _ right: RuleValue, _ place: Int
    ) -> RuleValue {
        let sign: String =
            switch operation {
            case .add: "+"
            case .subtract: "-"
            case .multiply: "*"
            case .divide: "/"
            case .remainder: "%"
            case .less: "<"
            case .lessOrEqual: "<="
            case .greater: ">"
            default: ">="
            }
        return error("\(left.type) \(sign) \(right.type) isn't possible", place)
    }

    private mutating func arithmetic(
        _ operation: Instruction.Operation, _ left: RuleValue, _ right: RuleValue, _ place: Int
    ) -> RuleValue {
        switch (left, right) {
        case (.int(let a), .int(let b)): return integers(operation, a, b, place)
        case (.float(let a), .float(let b)): return floats(operation, a, b)
        case (.int(let a), .float(let b)): return floats(operation, Double(a), b)
        case (.float(let a), .int(let b)): return floats(operation, a, Double(b))
        case (.string(let a), .string(let b)) where operation == .add:
            return text(a.utf8.count + b.utf8.count, place) { a + b }
        case (.duration(let a), .duration(let b)) where operation == .add: return duration(a.total + b.total, place)
        case (.duration(let a), .duration(let b)) where operation == .subtract:
            return duration(a.total - b.total, place)
        case (.timestamp(let time), .duration(let duration)) where operation == .add,
            (.duration(let duration), .timestamp(let time)) where operation == .add:
            return timestamp(time.totalNanoseconds + duration.total, place)
        case (.timestamp(let time), .duration(let duration)) where operation == .subtract:
            return timestamp(time.totalNanoseconds - duration.total, place)
        case (.timestamp(let a), .timestamp(let b)) where operation == .subtract:
            return duration(a.totalNanoseconds - b.totalNanoseconds, place)
        default: return impossible(operation, left, right, place)
        }
    }

    /// A text that is made, unless it is too long.
    mutating func text(_ bytes: Int, _ place: Int, _ make: () -> String) -> RuleValue {
        guard bytes <= RulesLimits.madeText else {
            return error("the text would have more than \(RulesLimits.madeText) bytes", place)
        }
        return spend(bytes / 64, place) ?? .string(make())
    }

    mutating func duration(_ nanoseconds: Int128, _ place: Int) -> RuleValue {
        RuleDuration(nanoseconds).map { .duration($0) } ?? error("the duration is longer than 10,000 years", place)
    }

    mutating func timestamp(_ nanoseconds: Int128, _ place: Int) -> RuleValue {
        Timestamp(totalNanoseconds: nanoseconds).map { .timestamp($0) }
            ?? error("the time isn't within the years 1 to 9999", place)
    }

    private mutating func integers(_ operation: Instruction.Operation, _ a: Int64, _ b: Int64, _ place: Int)
        -> RuleValue
    {
        if b == 0, operation == .divide || operation == .remainder { return error("division by 0", place) }
        let (value, isTooLarge) =
            switch operation {
            case .add: a.addingReportingOverflow(b)
            case .subtract: a.subtractingReportingOverflow(b)
            case .multiply: a.multipliedReportingOverflow(by: b)
            case .divide: a.dividedReportingOverflow(by: b)
            default: a.remainderReportingOverflow(dividingBy: b)
            }
        if isTooLarge, operation == .remainder { return .int(0) }
        return isTooLarge ? error("the result isn't within the range of integers", place) : .int(value)
    }

    private func floats(_ operation: Instruction.Operation, _ a: Double, _ b: Double) -> RuleValue {
        switch operation {
        case .add: .float(a + b)
        case .subtract: .float(a - b)
        case .multiply: .float(a * b)
        case .divide: .float(a / b)
        default: .float(a.truncatingRemainder(dividingBy: b))
        }
    }

    // MARK: in and is

    /// `value in container`.
    mutating func contains(_ container: RuleValue, _ value: RuleValue, _ place: Int) -> RuleValue {
        if case .error = value { return value }
        if case .error = container { return container }
        if case .unknown(let unknown) = container { return contains(unknown, value) }
        if case .unknown(.field(let path)) = value, let elements = container.elements {
            // The query excludes each element, or the field isn't known. It may be missing unless the query names it.
            let isExcluded =
                (facts?.exists(path) ?? false) && elements.allSatisfy { facts?.compare(path, .equal, $0) == false }
            return isExcluded ? .bool(false) : .unknown(.other)
        }
        if case .unknown = value { return .unknown(.other) }
        switch container {
        case .storedList(let elements) where value.elements == nil && !value.isMap && value.type != "vector":
            return spend(elements.count, place)
                ?? .bool(elements.contains { RuleValue.same(RuleValue($0), value) })
        case .list, .storedList:
            let elements = container.elements ?? []
            return searching([value], among: elements, place) ?? .bool(RuleValue.contains(elements, value))
        case .set(let elements):
            return searching([value], among: elements, place)
                ?? .bool(RuleValue.contains(elements, value, RuleValue.similar))
        case .map, .storedMap, .request:
            guard case .string(let name) = value else {
                return error("\(value.type) in map isn't possible; members have strings as names", place)
            }
            if case .request = container { return .bool(requestMember(name) != nil) }
            return .bool(container.member(name) != nil)
        case .null: return error("null contains nothing", place)
        default: return error("\(value.type) in \(container.type) isn't possible", place)
        }
    }

    private func contains(_ unknown: UnknownValue, _ value: RuleValue) -> RuleValue {
        guard let facts else { return .unknown(.other) }
        switch (unknown, value) {
        case (.field(let path), .string(let name)) where facts.exists(path + [name]): return .bool(true)
        case (.field(let path), _) where facts.hasElement(value, in: path): return .bool(true)
        case (.keys(let path), .string(let name)) where facts.exists(path + [name]): return .bool(true)
        case (.resource, .string(let name)) where ["data", "id", "__name__"].contains(name): return .bool(true)
        default: return .unknown(.other)
        }
    }

    func hasType(_ value: RuleValue, _ type: String) -> RuleValue {
        switch value {
        case .error: return value
        case .unknown(.resource): return .bool(type == "map")
        case .unknown(.keys(let path)): return path.isEmpty ? .bool(type == "list") : .unknown(.other)
        case .unknown(.path): return .bool(type == "path")
        case .unknown(.field(let path)):
            guard let known = facts?.type(of: path) else { return .unknown(.other) }
            if known == "number", type == "int" || type == "float" { return .unknown(.other) }
            return .bool(known == type)
        case .unknown: return .unknown(.other)
        // The official emulator has the type `set` and no value of it.
        case .set: return .bool(false)
        case .int, .float: return .bool(type == "number" || type == value.type)
        default: return .bool(type == value.type)
        }
    }
}
