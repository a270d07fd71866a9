/// The result of a comparison in Firestore's order.
public enum ValueOrder: Int, Sendable, Hashable {
    case ascending = -1, same = 0, descending = 1

    /// The result with both sides swapped.
    public var reversed: ValueOrder {
        switch self {
        case .ascending: .descending
        case .same: .same
        case .descending: .ascending
        }
    }

    init<Element: Comparable>(_ a: Element, _ b: Element) {
        self = a < b ? .ascending : b < a ? .descending : .same
    }
}

/// The classes of mutually comparable values, in Firestore's sort order.
public enum ValueClass: UInt8, Sendable, Hashable, Comparable, CaseIterable {
    case null = 1, boolean, number, timestamp, string, bytes, reference, geoPoint, array, vector, map

    public static func < (a: ValueClass, b: ValueClass) -> Bool { a.rawValue < b.rawValue }
}

extension Value {
    public var valueClass: ValueClass {
        switch self {
        case .null: .null
        case .boolean: .boolean
        case .integer, .double: .number
        case .timestamp: .timestamp
        case .string: .string
        case .bytes: .bytes
        case .reference: .reference
        case .geoPoint: .geoPoint
        case .array: .array
        case .map: vectorElements == nil ? .map : .vector
        }
    }

    /// The elements of a vector, a map of the form `{__type__: "__vector__", value: […]}`; nil for any other value.
    public var vectorElements: [Value]? {
        guard case .map(let fields) = self, fields.count == 2,
            case .string("__vector__") = fields["__type__"], case .array(let elements) = fields["value"]
        else { return nil }
        return elements
    }

    /// A vector with these elements.
    package static func vector(_ elements: [Double]) -> Value {
        .map(["__type__": .string("__vector__"), "value": .array(elements.map { .double($0) })])
    }

    /// Compares two values in Firestore's total order.
    ///
    /// Values of different classes sort by ``ValueClass``. NaN is the smallest number; integers and doubles compare by
    /// their exact values. Strings and bytes compare by bytes, vectors by length and then by element, maps by their
    /// sorted entries.
    public static func compare(_ a: Value, _ b: Value) -> ValueOrder {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): return ValueOrder(a, b)
        case (.double(let a), .double(let b)): return compare(a, b)
        case (.integer(let a), .double(let b)): return compare(a, b)
        case (.double(let a), .integer(let b)): return compare(b, a).reversed
        case (.string(let a), .string(let b)): return compare(a.utf8, b.utf8)
        default: break
        }
        let (classA, classB) = (a.valueClass, b.valueClass)
        guard classA == classB else { return ValueOrder(classA, classB) }
        switch (a, b) {
        case (.boolean(let a), .boolean(let b)): return ValueOrder(a ? 1 : 0, b ? 1 : 0)
        case (.timestamp(let a), .timestamp(let b)): return ValueOrder(a, b)
        case (.bytes(let a), .bytes(let b)): return compare(a, b)
        case (.reference(let a), .reference(let b)): return compare(a, b)
        case (.geoPoint(let a), .geoPoint(let b)):
            let byLatitude = compare(a.latitude, b.latitude)
            return byLatitude == .same ? compare(a.longitude, b.longitude) : byLatitude
        case (.array(let a), .array(let b)): return compare(a, b)
        case (.map(let fieldsA), .map(let fieldsB)):
            if let elementsA = a.vectorElements, let elementsB = b.vectorElements {
                let byLength = ValueOrder(elementsA.count, elementsB.count)
                return byLength == .same ? compare(elementsA, elementsB) : byLength
            }
            return compare(fieldsA, fieldsB)
        default: return .same
        }
    }

    private static func compare(_ a: Double, _ b: Double) -> ValueOrder {
        if a.isNaN || b.isNaN { return ValueOrder(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) }
        return ValueOrder(a, b)
    }

    private static func compare(_ a: Int64, _ b: Double) -> ValueOrder {
        if b.isNaN { return .descending }
        if b >= 0x1p63 { return .ascending }
        if b < -0x1p63 { return .descending }
        let whole = b.rounded(.towardZero)
        let byWhole = ValueOrder(a, Int64(whole))
        return byWhole == .same ? ValueOrder(whole, b) : byWhole
    }

    private static func compare(_ a: DocumentName, _ b: DocumentName) -> ValueOrder {
        let byProject = compare(a.database.project.utf8, b.database.project.utf8)
        if byProject != .same { return byProject }
        let byDatabase = compare(a.database.database.utf8, b.database.database.utf8)
        return byDatabase == .same ? DocumentPath.compare(a.path, b.path) : byDatabase
    }

    private static func compare(_ a: [Value], _ b: [Value]) -> ValueOrder {
        for (a, b) in zip(a, b) {
            let order = compare(a, b)
            if order != .same { return order }
        }
        return ValueOrder(a.count, b.count)
    }

    /// The first name in which the maps differ decides: found without sorting, since either may be large.
    private static func compare(_ a: [String: Value], _ b: [String: Value]) -> ValueOrder {
        var first: String?
        // Nil if only one map has the name.
        var byValue: ValueOrder?
        func isFirst(_ name: String) -> Bool { first.map { compare(name.utf8, $0.utf8) == .ascending } ?? true }
        for (name, value) in a where isFirst(name) {
            let order = b.member(name).map { compare(value, $0) }
            if order != .same { (first, byValue) = (name, order) }
        }
        for name in b.keys where isFirst(name) && a.member(name) == nil { (first, byValue) = (name, nil) }
        guard let name = first else { return .same }
        if let byValue { return byValue }
        // The other map's entry at this place is one of a later name, if it has one there.
        let isInA = a.member(name) != nil
        let hasLater = (isInA ? b : a).keys.contains { compare($0.utf8, name.utf8) == .descending }
        return isInA == hasLater ? .ascending : .descending
    }

    static func compare(_ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> ValueOrder {
        var (a, b) = (a.makeIterator(), b.makeIterator())
        while true {
            switch (a.next(), b.next()) {
            case (nil, nil): return .same
            case (nil, _): return .ascending
            case (_, nil): return .descending
            case (let a?, let b?): if a != b { return ValueOrder(a, b) }
            }
        }
    }
}

extension DocumentPath {
    /// Compares two paths in the order of `__name__`: segment by segment, numeric ids first, others by bytes.
    public static func compare(_ a: DocumentPath, _ b: DocumentPath) -> ValueOrder {
        let (pathA, pathB) = (a, b)
        var (a, b) = (a.string.utf8.makeIterator(), b.string.utf8.makeIterator())
        let slash = UInt8(ascii: "/")
        var (isStart, mayBeNumeric) = (true, false)
        while true {
            let (byteA, byteB) = (a.next(), b.next())
            if isStart { mayBeNumeric = byteA == UInt8(ascii: "_") || byteB == UInt8(ascii: "_") }
            guard byteA == byteB else {
                if mayBeNumeric { return compareSegments(pathA, pathB) }
                // A slash ends a segment, so it sorts before any byte within a segment.
                guard let byteA else { return .ascending }
                guard let byteB else { return .descending }
                if byteA == slash { return .ascending }
                return byteB == slash ? .descending : ValueOrder(byteA, byteB)
            }
            guard byteA != nil else { return .same }
            isStart = byteA == slash
        }
    }

    private static func compareSegments(_ a: DocumentPath, _ b: DocumentPath) -> ValueOrder {
        let (segmentsA, segmentsB) = (a.segments, b.segments)
        for (a, b) in zip(segmentsA, segmentsB) {
            let order = Value.compare(
                NumericID(a.utf8)?.order ?? Array(a.utf8), NumericID(b.utf8)?.order ?? Array(b.utf8))
            if order != .same { return order }
        }
        return ValueOrder(segmentsA.count, segmentsB.count)
    }
}
