/// A node's priority, by which clients may order siblings. A node without one has nil.
package enum RealtimePriority: Sendable {
    case number(RealtimeNumber)
    case string(String)

    /// The priority that a leaf's value is; nil for a boolean.
    package init?(_ leaf: RealtimeLeaf) {
        switch leaf {
        case .boolean: return nil
        case .number(let number): self = .number(number)
        case .string(let string): self = .string(string)
        }
    }

    package var leaf: RealtimeLeaf {
        switch self {
        case .number(let number): .number(number)
        case .string(let string): .string(string)
        }
    }
}

extension RealtimePriority: Hashable {
    package static func == (a: RealtimePriority, b: RealtimePriority) -> Bool { a.leaf == b.leaf }

    package func hash(into hasher: inout Hasher) { hasher.combine(leaf) }
}

extension RealtimePriority: Comparable {
    /// Numbers sort before strings.
    package static func < (a: RealtimePriority, b: RealtimePriority) -> Bool {
        RealtimeLeaf.compare(a.leaf, b.leaf) < 0
    }

    /// The order of two nodes' priorities, where none sorts before all others.
    ///
    /// - Returns: A negative number, 0 or a positive number if `a` sorts before, with or after `b`.
    package static func compare(_ a: RealtimePriority?, _ b: RealtimePriority?) -> Int {
        switch (a, b) {
        case (let a?, let b?): RealtimeLeaf.compare(a.leaf, b.leaf)
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        }
    }
}

extension RealtimePriority: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
    package init(integerLiteral value: Int64) { self = .number(RealtimeNumber(value)) }
    package init(floatLiteral value: Double) { self = .number(RealtimeNumber(value)) }
    package init(stringLiteral value: String) { self = .string(value) }
}
