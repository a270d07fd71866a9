import StorageEngine
import DocumentModel

/// A value as bytes that sort as ``Value/compare(_:_:)`` does.
///
/// No key is a prefix of another, so other bytes can follow a key. Equivalent values have equal keys.
enum ValueKey {
    /// The key cut to the indexed length, and whether something was cut off.
    static func indexed(_ value: Value) -> (key: [UInt8], truncated: Bool) {
        var key: [UInt8] = []
        let truncated = appendIndexed(value, to: &key)
        return (key, truncated)
    }

    /// Appends the key cut to the indexed length.
    ///
    /// - Returns: whether something was cut off.
    static func appendIndexed(_ value: Value, to key: inout [UInt8]) -> Bool {
        let end = key.count + DocumentLimits.maxIndexedValueBytes
        append(value, to: &key, limit: end)
        guard key.count > end else { return false }
        key.removeLast(key.count - end)
        return true
    }

    /// The common first bytes of a class's keys.
    static func prefix(of valueClass: ValueClass) -> UInt8 { valueClass.rawValue + 1 }

    /// If the whole value would make `key` longer than `limit`, makes it longer than that, but may leave out the rest.
    static func append(_ value: Value, to key: inout [UInt8], limit: Int) {
        key.append(prefix(of: value.valueClass))
        switch value {
        case .null: break
        case .boolean(let flag): key.append(flag ? 1 : 0)
        case .integer(let number): append(number, to: &key)
        case .double(let number):
            append(number, to: &key)
            appendResidual(0, to: &key)
        case .timestamp(let time):
            KeyBytes.append(UInt64(bitPattern: time.seconds) ^ (1 << 63), to: &key)
            KeyBytes.append(UInt64(time.nanoseconds), to: &key)
        case .string(let text): append(text.utf8, to: &key, limit: limit)
        case .bytes(let bytes): append(bytes, to: &key, limit: limit)
        case .reference(let name):
            KeyBytes.append(name.database.project.utf8, to: &key)
            KeyBytes.append(name.database.database.utf8, to: &key)
            DocumentKeys.append(name.path.string, to: &key)
            key.append(0)
        case .geoPoint(let point):
            append(point.latitude, to: &key)
            append(point.longitude, to: &key)
        case .array(let elements): append(elements, to: &key, limit: limit)
        case .map(let fields):
            if let elements = value.vectorElements {
                KeyBytes.append(UInt64(elements.count), to: &key)
                append(elements, to: &key, limit: limit)
            } else {
                append(fields, to: &key, limit: limit)
            }
        }
    }

    private static func append(_ elements: [Value], to key: inout [UInt8], limit: Int) {
        for element in elements {
            append(element, to: &key, limit: limit)
            if key.count > limit { return }
        }
        key.append(0)
    }

    private static func append(_ fields: [String: Value], to key: inout [UInt8], limit: Int) {
        // Each member takes three bytes or more, so that no others are within the limit.
        let most = max(limit - key.count, 0) / 3 + 1
        let precedes = { (a: String, b: String) in a.utf8.lexicographicallyPrecedes(b.utf8) }
        for (name, value) in fields.first(most, by: precedes) {
            key.append(1)
            KeyBytes.append(name.utf8, to: &key)
            append(value, to: &key, limit: limit)
            if key.count > limit { return }
        }
        key.append(0)
    }

    private static func append(_ content: some Collection<UInt8>, to key: inout [UInt8], limit: Int) {
        if content.count > limit {
            KeyBytes.appendOpen(content.prefix(limit + 1), to: &key)
        } else {
            KeyBytes.append(content, to: &key)
        }
    }

    /// The nearest double, and its difference from the integer: at most 512, next to 2^63.
    private static func append(_ number: Int64, to key: inout [UInt8]) {
        let nearest = Double(number)
        append(nearest, to: &key)
        appendResidual(Int(Int128(number) - Int128(nearest)), to: &key)
    }

    private static func appendResidual(_ residual: Int, to key: inout [UInt8]) {
        let biased = UInt16(residual + 0x8000)
        key.append(UInt8(biased >> 8))
        key.append(UInt8(truncatingIfNeeded: biased))
    }

    private static func append(_ number: Double, to key: inout [UInt8]) {
        guard !number.isNaN else { return KeyBytes.append(0, to: &key) }
        let bits = (number == 0 ? 0 : number).bitPattern
        KeyBytes.append(bits >> 63 == 1 ? ~bits : bits | 1 << 63, to: &key)
    }
}

extension [String: Value] {
    /// The members whose names are the first, in their order, in a time that hardly depends on all others': a large map
    /// comes again in the keys of each map around it.
    func first(_ most: Int, by precedes: (String, String) -> Bool) -> [Element] {
        guard count > most else { return sorted { precedes($0.key, $1.key) } }
        var first: [Element] = []
        first.reserveCapacity(2 * most)
        // No name behind this one is among the first.
        var bound: String?
        for member in self {
            if let bound, precedes(bound, member.key) { continue }
            first.append(member)
            guard first.count == 2 * most else { continue }
            first.sort { precedes($0.key, $1.key) }
            first.removeLast(most)
            bound = first.last?.key
        }
        first.sort { precedes($0.key, $1.key) }
        return Array(first.prefix(most))
    }
}
