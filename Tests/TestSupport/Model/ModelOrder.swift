package import DocumentModel

/// Firestore's order of values, written a second time and as plainly as can be.
package enum ModelOrder {
    /// - Returns: below 0, 0 or above 0, as the first comes before, equals or follows the second.
    package static func compare(_ a: Value, _ b: Value) -> Int {
        let (rankA, rankB) = (rank(a), rank(b))
        guard rankA == rankB else { return rankA - rankB }
        switch (a, b) {
        case (.boolean(let a), .boolean(let b)): return (a ? 1 : 0) - (b ? 1 : 0)
        case (.integer, _), (.double, _): return compareNumbers(a, b)
        case (.timestamp(let a), .timestamp(let b)):
            return first([sign(a.seconds, b.seconds), sign(a.nanoseconds, b.nanoseconds)])
        case (.string(let a), .string(let b)): return compare(Array(a.utf8), Array(b.utf8))
        case (.bytes(let a), .bytes(let b)): return compare(a, b)
        case (.reference(let a), .reference(let b)):
            return first([
                compare(Array(a.database.project.utf8), Array(b.database.project.utf8)),
                compare(Array(a.database.database.utf8), Array(b.database.database.utf8)),
                compare(a.path, b.path),
            ])
        case (.geoPoint(let a), .geoPoint(let b)):
            return first([sign(a.latitude, b.latitude), sign(a.longitude, b.longitude)])
        case (.array(let a), .array(let b)): return first(zip(a, b).map { compare($0, $1) } + [a.count - b.count])
        case (.map(let fieldsA), .map(let fieldsB)):
            if case .array(let a) = fieldsA["value"], case .array(let b) = fieldsB["value"], isVector(fieldsA) {
                return first([a.count - b.count] + zip(a, b).map { compare($0, $1) })
            }
            return compare(entries(fieldsA), entries(fieldsB))
        default: return 0
        }
    }

    package static func compare(_ a: DocumentPath, _ b: DocumentPath) -> Int {
        let segments = zip(a.segments, b.segments).map { compare(Array($0.utf8), Array($1.utf8)) }
        return first(segments + [a.segments.count - b.segments.count])
    }

    package static func equal(_ a: Value, _ b: Value) -> Bool { compare(a, b) == 0 }

    /// Whether both are of one kind, so that < and > can hold between them.
    package static func comparable(_ a: Value, _ b: Value) -> Bool { rank(a) == rank(b) }

    package static func isNumber(_ value: Value) -> Bool { rank(value) == 2 }

    private static func rank(_ value: Value) -> Int {
        switch value {
        case .null: 0
        case .boolean: 1
        case .integer, .double: 2
        case .timestamp: 3
        case .string: 4
        case .bytes: 5
        case .reference: 6
        case .geoPoint: 7
        case .array: 8
        case .map(let fields): isVector(fields) ? 9 : 10
        }
    }

    private static func isVector(_ fields: [String: Value]) -> Bool {
        guard case .array = fields["value"], fields.count == 2 else { return false }
        return fields["__type__"] == .string("__vector__")
    }

    private static func entries(_ fields: [String: Value]) -> [Value] {
        fields.sorted { compare(Array($0.key.utf8), Array($1.key.utf8)) < 0 }.flatMap { [.string($0.key), $0.value] }
    }

    private static func compare(_ a: [Value], _ b: [Value]) -> Int {
        first(zip(a, b).map { compare($0, $1) } + [a.count - b.count])
    }

    private static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        first(zip(a, b).map { Int($0) - Int($1) } + [a.count - b.count])
    }

    private static func compareNumbers(_ a: Value, _ b: Value) -> Int {
        let (wholeA, partA) = split(a)
        let (wholeB, partB) = split(b)
        return first([sign(wholeA, wholeB), sign(partA, partB)])
    }

    /// A number as a whole one and what is left of it; NaN and what no Int128 can hold stand beyond all others.
    private static func split(_ value: Value) -> (Int128, Double) {
        switch value {
        case .integer(let number): return (Int128(number), 0)
        case .double(let number):
            if number.isNaN { return (.min, -.infinity) }
            if number >= 0x1p100 { return (.max, number) }
            if number <= -0x1p100 { return (.min, number == -.infinity ? -.greatestFiniteMagnitude : number / 2) }
            let whole = number.rounded(.down)
            return (Int128(whole), number - whole)
        default: return (0, 0)
        }
    }

    private static func sign<Number: Comparable>(_ a: Number, _ b: Number) -> Int { a < b ? -1 : a > b ? 1 : 0 }

    private static func first(_ orders: [Int]) -> Int { orders.first { $0 != 0 } ?? 0 }
}
