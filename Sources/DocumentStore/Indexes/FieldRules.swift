import DocumentModel

/// The automatic indexes of a collection's fields, with exemptions arranged as a tree of names.
///
/// A field uses its own exemption, else that of the nearest map above it, else that of all fields.
struct FieldRules: Hashable, Sendable {
    private(set) var isOrdered = true
    private(set) var hasElements = true
    private var below: [String: FieldRules] = [:]

    /// The rules without any exemption.
    init() {}

    /// A field has the indexes that each of the lists leaves it.
    init(_ lists: [[FieldExemption]]) {
        let named = lists.joined().compactMap(\.field).sorted { $0.segments.count < $1.segments.count }
        set(lists, at: nil)
        for field in named { set(lists, at: field) }
    }

    func rules(below name: String) -> FieldRules {
        // Most fields have no exemption of their own.
        guard !below.isEmpty, let rules = below[name] else { return inherited }
        return rules
    }

    func rules(of field: FieldPath) -> FieldRules {
        field.segments.reduce(self) { $0.rules(below: $1) }
    }

    /// Whether every field has all automatic indexes.
    var isWhole: Bool { isOrdered && hasElements && below.values.allSatisfy(\.isWhole) }

    /// Whether every field has at least the indexes that it has in the other rules.
    func covers(_ other: FieldRules) -> Bool {
        guard isOrdered || !other.isOrdered, hasElements || !other.hasElements else { return false }
        return Set(below.keys).union(other.below.keys).allSatisfy {
            rules(below: $0).covers(other.rules(below: $0))
        }
    }

    private var inherited: FieldRules {
        var rules = FieldRules()
        rules.isOrdered = isOrdered
        rules.hasElements = hasElements
        return rules
    }

    private mutating func set(_ lists: [[FieldExemption]], at field: FieldPath?) {
        let exemptions = lists.compactMap { Self.exemption(of: field, in: $0) }
        change(at: field?.segments[...] ?? []) { rules in
            rules.isOrdered = exemptions.allSatisfy(\.isOrdered)
            rules.hasElements = exemptions.allSatisfy(\.hasElements)
        }
    }

    private mutating func change(at segments: ArraySlice<String>, _ body: (inout FieldRules) -> Void) {
        guard let first = segments.first else { return body(&self) }
        var next = rules(below: first)
        next.change(at: segments.dropFirst(), body)
        below[first] = next
    }

    /// The exemption of the field itself, of the nearest map above it, or of all fields.
    private static func exemption(of field: FieldPath?, in list: [FieldExemption]) -> FieldExemption? {
        let segments = field?.segments ?? []
        return list.filter { segments.starts(with: $0.field?.segments ?? []) }
            .max { ($0.field?.segments.count ?? 0) < ($1.field?.segments.count ?? 0) }
    }
}
