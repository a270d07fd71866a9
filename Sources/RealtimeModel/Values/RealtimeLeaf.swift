/// The value of a node without children.
package enum RealtimeLeaf: Sendable {
    case boolean(Bool)
    case number(RealtimeNumber)
    case string(String)
}

extension RealtimeLeaf: Hashable {
    /// Numbers are compared by value, and strings by their bytes.
    package static func == (a: RealtimeLeaf, b: RealtimeLeaf) -> Bool {
        switch (a, b) {
        case (.boolean(let a), .boolean(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): RealtimeText.equal(a, b)
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .boolean(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): RealtimeText.hash(value, into: &hasher)
        }
    }
}

extension RealtimeLeaf: Comparable {
    /// The order of values in queries: false, true, numbers, strings by UTF-16 units.
    package static func < (a: RealtimeLeaf, b: RealtimeLeaf) -> Bool { compare(a, b) < 0 }

    /// - Returns: A negative number, 0 or a positive number if `a` sorts before, with or after `b`.
    static func compare(_ a: RealtimeLeaf, _ b: RealtimeLeaf) -> Int {
        switch (a, b) {
        case (.boolean(let a), .boolean(let b)): (a ? 1 : 0) - (b ? 1 : 0)
        case (.number(let a), .number(let b)): RealtimeNumber.compare(a, b)
        case (.string(let a), .string(let b)): RealtimeText.compare(a, b)
        default: a.rank - b.rank
        }
    }

    private var rank: Int {
        switch self {
        case .boolean: 0
        case .number: 1
        case .string: 2
        }
    }
}

extension RealtimeLeaf: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral
{
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    package init(integerLiteral value: Int64) { self = .number(RealtimeNumber(value)) }
    package init(floatLiteral value: Double) { self = .number(RealtimeNumber(value)) }
    package init(stringLiteral value: String) { self = .string(value) }
}
