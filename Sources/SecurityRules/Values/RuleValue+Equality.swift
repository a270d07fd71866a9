import DocumentModel

extension RuleValue {
    /// `a == b`: numbers are compared by value, but within lists and maps 1 and 1.0 differ. Values of two types are never
    /// equal, except lists and maps from anywhere.
    static func equal(_ a: RuleValue, _ b: RuleValue) -> Bool {
        switch (a, b) {
        case (.int(let a), .float(let b)), (.float(let b), .int(let a)): Double(a) == b
        default: same(a, b)
        }
    }

    /// As ``equal(_:_:)``, also for numbers within lists and maps. NaN is like NaN, and an integer isn't like a float that
    /// is only its nearest one. `diff` and sets compare so.
    static func similar(_ a: RuleValue, _ b: RuleValue) -> Bool {
        if let a = a.elements, let b = b.elements {
            return a.count == b.count && zip(a, b).allSatisfy { similar($0, $1) }
        }
        if let a = a.members, let b = b.members { return haveSameMembers(a, b, similar) }
        switch (a, b) {
        case (.float(let a), .float(let b)): return a == b || a.isNaN && b.isNaN
        case (.int(let a), .float(let b)), (.float(let b), .int(let a)): return Int64(exactly: b) == a
        default: return equal(a, b)
        }
    }

    private static func haveSameMembers<Member>(
        _ a: [String: Member], _ b: [String: Member], _ isEqual: (Member, Member) -> Bool
    ) -> Bool {
        a.count == b.count && a.allSatisfy { name, value in member(of: b, name).map { isEqual(value, $0) } ?? false }
    }

    /// Whether two values have the same type and content.
    static func same(_ a: RuleValue, _ b: RuleValue) -> Bool {
        switch (a, b) {
        case (.null, .null), (.request, .request): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.float(let a), .float(let b)): a == b
        // == on String treats different spellings of é as equal.
        case (.string(let a), .string(let b)): TextBytes.equal(a, b)
        case (.bytes(let a), .bytes(let b)): a == b
        case (.timestamp(let a), .timestamp(let b)): a == b
        case (.duration(let a), .duration(let b)): a == b
        case (.latlng(let a), .latlng(let b)): a == b
        case (.path(let a), .path(let b)): a.count == b.count && zip(a, b).allSatisfy { TextBytes.equal($0, $1) }
        case (.set(let a), .set(let b)): a.count == b.count && a.allSatisfy { contains(b, $0, similar) }
        case (.mapDiff(let a), .mapDiff(let b)):
            same(.map(a.before), .map(b.before)) && same(.map(a.after), .map(b.after))
        case (.storedList(let a), .storedList(let b)), (.vector(let a), .vector(let b)):
            a.count == b.count && zip(a, b).allSatisfy { same(RuleValue($0), RuleValue($1)) }
        case (.list, .list), (.list, .storedList), (.storedList, .list):
            if let a = a.elements, let b = b.elements {
                a.count == b.count && zip(a, b).allSatisfy { same($0, $1) }
            } else {
                false
            }
        case (.storedMap(let a), .storedMap(let b)):
            haveSameMembers(a, b) { same(RuleValue($0), RuleValue($1)) }
        case (.map, .map), (.map, .storedMap), (.storedMap, .map):
            if let a = a.members, let b = b.members {
                haveSameMembers(a, b, same)
            } else {
                false
            }
        default: false
        }
    }

    static func contains(
        _ elements: [RuleValue], _ value: RuleValue, _ equal: (RuleValue, RuleValue) -> Bool = same
    ) -> Bool {
        elements.contains { equal($0, value) }
    }

    /// A set of the values, each once.
    static func set(of elements: [RuleValue]) -> RuleValue {
        var all: [RuleValue] = []
        for element in elements where !contains(all, element, similar) { all.append(element) }
        return .set(all)
    }

    /// The order of two values of a type that has one; nil for others. Strings are ordered as the official emulator orders
    /// them, by UTF-16.
    static func order(_ a: RuleValue, _ b: RuleValue) -> Ordering? {
        switch (a, b) {
        case (.int(let a), .int(let b)): Ordering(a, b)
        case (.float(let a), .float(let b)): Ordering(a, b)
        case (.int(let a), .float(let b)): Ordering(Double(a), b)
        case (.float(let a), .int(let b)): Ordering(a, Double(b))
        case (.string(let a), .string(let b)): Ordering(a.utf16, b.utf16)
        case (.bytes(let a), .bytes(let b)): Ordering(a, b)
        case (.timestamp(let a), .timestamp(let b)): Ordering(a, b)
        case (.duration(let a), .duration(let b)): Ordering(a, b)
        default: nil
        }
    }
}

/// How two values are ordered; NaN is not ordered with anything.
enum Ordering {
    case less, equal, greater, unordered

    init<T: Comparable>(_ a: T, _ b: T) { self = a < b ? .less : a > b ? .greater : a == b ? .equal : .unordered }

    init<C: Sequence>(_ a: C, _ b: C) where C.Element: Comparable {
        self = a.lexicographicallyPrecedes(b) ? .less : b.lexicographicallyPrecedes(a) ? .greater : .equal
    }
}
