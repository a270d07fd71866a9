extension Value {
    /// Whether queries and array operations treat both values as equal: 1 and 1.0 are equal, and so are NaN and NaN.
    ///
    /// Whether ``compare(_:_:)`` finds them the same, in time bounded by the smaller value.
    public static func equivalent(_ a: Value, _ b: Value) -> Bool {
        switch (a, b) {
        case (.array(let a), .array(let b)):
            return a.count == b.count && zip(a, b).allSatisfy { equivalent($0, $1) }
        case (.map(let a), .map(let b)):
            guard a.count == b.count else { return false }
            // If all members are equivalent, both maps are vectors or none is.
            return a.allSatisfy { name, value in b.member(name).map { equivalent(value, $0) } ?? false }
        default: return compare(a, b) == .same
        }
    }
}

extension [String: Value] {
    /// The value of exactly this name: a dictionary's lookup finds a canonically equivalent one too.
    package func member(_ name: String) -> Value? {
        guard let index = index(forKey: name), TextBytes.equal(self[index].key, name) else { return nil }
        return self[index].value
    }
}

/// A value that equals those which queries and array operations treat as equal.
package struct EquivalentValue: Hashable, Sendable {
    private let value: Value

    package init(_ value: Value) { self.value = value }

    package static func == (a: EquivalentValue, b: EquivalentValue) -> Bool { Value.equivalent(a.value, b.value) }

    package func hash(into hasher: inout Hasher) { value.hashEquivalent(into: &hasher) }
}

extension Value {
    /// Unlike ``hash(into:)``, feeds the same bytes for all equivalent values.
    fileprivate func hashEquivalent(into hasher: inout Hasher) {
        switch self {
        case .double(let number):
            guard let whole = Int64(exactly: number) else { return hash(into: &hasher) }
            Value.integer(whole).hash(into: &hasher)
        case .geoPoint(let point):
            hasher.combine(valueClass)
            // As doubles, of which -0.0 equals 0.0.
            hasher.combine(point)
        case .array(let elements):
            hasher.combine(valueClass)
            hasher.combine(elements.count)
            for element in elements { element.hashEquivalent(into: &hasher) }
        case .map(let fields):
            hasher.combine(valueClass)
            hasher.combine(fields.count)
            // XOR, so that the order of the members doesn't matter.
            var members = 0
            for (name, value) in fields {
                var member = hasher
                TextBytes.hash(name, into: &member)
                value.hashEquivalent(into: &member)
                members ^= member.finalize()
            }
            hasher.combine(members)
        default: hash(into: &hasher)
        }
    }
}
