import StorageEngine
import DocumentModel

/// A way to find a conjunction's documents: through one access, or through several, whose common documents are used.
///
/// After their prefixes, the keys of all accesses have the same parts in the same order, which are compared as a place:
/// bytes that ascend in the query's order, whatever the direction of the keys themselves.
struct QueryRoute {
    let conjunction: Conjunction
    let target: QueryTarget
    /// The common start of the documents' own keys; nil for a group.
    let documentPrefix: [UInt8]?
    let accesses: [IndexAccess]
    /// For each access, whether its keys run in the opposite direction to places.
    let isReversed: [Bool]
    /// The parts of a place before the name.
    let fields: [IndexAccess.Field]
    let namesDescend: Bool
    /// Ranges of places, in ascending order.
    let ranges: [KeyRange]
    /// How many of the remaining orders the route delivers, and whether these are all.
    let delivered: Int
    let isOrdered: Bool
    /// The conditions that keys within the ranges satisfy, at least approximately.
    let covered: Set<Int>
    /// Conditions that must still be checked on the document.
    let residual: [QueryLeaf]
    let checksCursors: Bool
    let checksFields: Bool
    /// Whether it also finds documents that aren't below the query's parent.
    let checksParent: Bool

    /// Whether everything that it finds is in the result.
    var isExact: Bool { residual.isEmpty && !checksCursors && !checksFields && !checksParent }

    /// - Parameter accesses: not empty, all with the same signature.
    init(_ conjunction: Conjunction, _ target: QueryTarget, _ accesses: [IndexAccess]) {
        self.conjunction = conjunction
        self.target = target
        documentPrefix =
            if case .collection(let collection) = target {
                DocumentKeys.prefix(ofCollection: collection.string)
            } else {
                nil
            }
        self.accesses = accesses
        let signature = accesses[0].signature
        let orders = conjunction.orders
        // The direction of the first part determines that of the others.
        let first = signature.first ?? IndexAccess.Field(path: .documentID, descending: false)
        let descends = orders[0].field == first.path && orders[0].descending
        let namesDescend = descends != first.descending
        self.namesDescend = namesDescend
        fields = signature.map { IndexAccess.Field(path: $0.path, descending: $0.descending != namesDescend) }
        isReversed = accesses.map { $0.namesDescend != namesDescend }
        // The whole table has other documents besides the group's, and another order.
        let isWholeTable = accesses[0].prefix.isEmpty
        let parts = fields + [IndexAccess.Field(path: .documentID, descending: namesDescend)]
        let delivered =
            isWholeTable ? 0 : zip(parts, orders).prefix { $0.path == $1.field && $0.descending == $1.descending }.count
        self.delivered = delivered
        isOrdered = delivered == orders.count

        var covered: Set<Int> = []
        var exact: Set<Int> = []
        for access in accesses {
            for index in access.equalities {
                covered.insert(conjunction.equalities[index].leaf)
                if access.isExact { exact.insert(conjunction.equalities[index].leaf) }
            }
        }
        let places = isWholeTable ? PlaceRanges(conjunction) : PlaceRanges(conjunction, target, parts)
        covered.formUnion(places.covered)
        exact.formUnion(places.exact)
        ranges = places.ranges
        checksCursors = !places.isCursorExact
        if case .group = target, conjunction.query.query.parent != nil {
            checksParent = isWholeTable || !fields.isEmpty
        } else {
            checksParent = isWholeTable
        }
        self.covered = covered
        residual = conjunction.leaves.indices.filter { !exact.contains($0) }.map { conjunction.leaves[$0] }
        let held = Set(fields.map(\.path)).union(conjunction.leaves.map(\.field))
        let query = conjunction.query
        checksFields =
            !query.orders.allSatisfy { $0.field.isDocumentID || held.contains($0.field) }
            || !query.required.allSatisfy(held.contains)
    }

    /// Whether this route reads no more than another, and delivers at least as much of the order.
    func isAtLeast(_ other: QueryRoute) -> Bool {
        covered.isSuperset(of: other.covered) && delivered >= other.delivered
    }
}

extension QueryRoute {
    /// The ranges of one access's keys, in the order of places.
    func keyRanges(_ index: Int) -> [KeyRange] {
        ranges.map { keyRange($0, index) }
    }

    /// The keys of an access that are in a range of places.
    func keyRange(_ places: KeyRange, _ index: Int) -> KeyRange {
        let access = accesses[index]
        let range = isReversed[index] ? places.inverted : places
        func key(_ bound: [UInt8]) -> [UInt8] {
            // Adds the terminator of a name: without it, the bound would sort before keys that have one.
            access.isTerminated || isReversed[index] || bound.last != 0
                ? access.prefix + bound : access.prefix + bound.dropLast()
        }
        return KeyRange(
            lower: key(range.lower), upper: range.upper.map(key) ?? KeyBytes.successor(ofPrefix: access.prefix))
    }

    /// The place of a key of an access.
    func place(_ key: [UInt8], _ index: Int) -> [UInt8] {
        let access = accesses[index]
        var place = Array(key[access.prefix.count...])
        if !access.isTerminated { place.append(0) }
        if isReversed[index] { for index in place.indices { place[index] = ~place[index] } }
        return place
    }

    /// The end of the bytes that a hit's group has in common: within the group, documents may come in any order.
    ///
    /// - Returns: nil if the key is a group by itself.
    func groupEnd(_ hit: IndexHit) -> Int? {
        let start = accesses[0].prefix.count
        if isOrdered, !hit.isTruncated { return nil }
        var end = start
        for field in fields.prefix(delivered) {
            let isInverted = field.descending != isReversed[0]
            let value = ValueKeyReader.end(in: hit.key, from: end, isInverted: isInverted)
            end = value.end
            if value.isTruncated { return end }
        }
        return isOrdered ? nil : end
    }
}

/// The ranges of places that a conjunction's conditions and cursors allow.
private struct PlaceRanges {
    var ranges: [KeyRange] = [.all]
    var covered: Set<Int> = []
    var exact: Set<Int> = []
    var isCursorExact: Bool

    /// All places.
    init(_ conjunction: Conjunction) {
        isCursorExact = conjunction.start == nil && conjunction.end == nil
    }

    init(_ conjunction: Conjunction, _ target: QueryTarget, _ parts: [IndexAccess.Field]) {
        self.init(conjunction)
        let first = parts[0]
        if first.path.isDocumentID {
            narrowNames(conjunction, target)
        } else {
            for (index, leaf) in conjunction.leaves.enumerated() where leaf.field == first.path {
                guard let (values, isExact) = leaf.valueRanges else { continue }
                ranges = ranges.intersection(values)
                covered.insert(index)
                if isExact { exact.insert(index) }
            }
        }
        if first.descending { ranges = ranges.reversed().map(\.inverted) }
        guard !isCursorExact else { return }
        let cursors = [(conjunction.start, true), (conjunction.end, false)].compactMap { cursor, isStart in
            cursor.map { Self.range($0, isStart: isStart, conjunction, target, parts) }
        }
        isCursorExact = cursors.allSatisfy(\.isExact)
        for cursor in cursors { ranges = ranges.intersection([cursor.range]) }
    }

    private mutating func narrowNames(_ conjunction: Conjunction, _ target: QueryTarget) {
        let query = conjunction.query
        if case .group = target, let parent = query.query.parent {
            var prefix: [UInt8] = []
            DocumentKeys.append(parent.string, to: &prefix)
            // The parent isn't below itself, and no segment begins with 0.
            let below = KeyRange(lower: prefix + [1], upper: KeyBytes.successor(ofPrefix: prefix))
            ranges = ranges.intersection([below])
        }
        for (index, leaf) in conjunction.leaves.enumerated() where leaf.field.isDocumentID {
            guard case .compare(let comparison, let value) = leaf.test, let path = try? query.name(value),
                let name = target.name(path)
            else { continue }
            let point = KeyRange(prefix: name)
            switch comparison {
            case .lessThan: ranges = ranges.intersection([KeyRange(lower: [], upper: point.lower)])
            case .lessThanOrEqual: ranges = ranges.intersection([KeyRange(lower: [], upper: point.upper)])
            case .greaterThan: ranges = ranges.intersection([KeyRange(lower: point.upper ?? point.lower, upper: nil)])
            case .greaterThanOrEqual: ranges = ranges.intersection([KeyRange(lower: point.lower, upper: nil)])
            case .notEqual: ranges = ranges.subtracting(point)
            default: continue
            }
            covered.insert(index)
            exact.insert(index)
        }
    }

    /// The places after a start or before an end, as far as the parts follow the query's orders.
    private static func range(
        _ cursor: Conjunction.Cursor, isStart: Bool, _ conjunction: Conjunction, _ target: QueryTarget,
        _ parts: [IndexAccess.Field]
    ) -> (range: KeyRange, isExact: Bool) {
        var bytes: [UInt8] = []
        var used = 0
        for (index, value) in cursor.values.enumerated() {
            guard index < parts.count, parts[index].path == conjunction.orders[index].field,
                parts[index].descending == conjunction.orders[index].descending
            else { break }
            var key: [UInt8]
            var truncated = false
            if parts[index].path.isDocumentID {
                guard let path = try? conjunction.query.name(value), let name = target.name(path) else { break }
                key = name
            } else {
                (key, truncated) = ValueKey.indexed(value)
            }
            if parts[index].descending { key = key.map { ~$0 } }
            bytes += key
            guard !truncated else { break }
            used += 1
        }
        let isExact = used == cursor.values.count && cursor.isWhole
        let point = KeyRange(prefix: bytes)
        // If the bytes aren't decisive, the documents with these bytes are checked.
        if isStart {
            let lower = isExact && !cursor.before ? point.upper ?? point.lower : point.lower
            return (KeyRange(lower: lower, upper: nil), isExact)
        }
        return (KeyRange(lower: [], upper: isExact && cursor.before ? point.lower : point.upper), isExact)
    }
}

extension QueryTarget {
    /// A name as it is written in places; nil if the target can't contain such a document.
    func name(_ path: DocumentPath) -> [UInt8]? {
        var key: [UInt8] = []
        switch self {
        case .collection(let collection):
            guard path.parent == collection else { return nil }
            DocumentKeys.append(path.id, to: &key)
        case .group:
            DocumentKeys.append(path.string, to: &key)
            key.append(0)
        }
        return key
    }
}
