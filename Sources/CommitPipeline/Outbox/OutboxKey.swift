import StorageEngine
import DocumentModel

/// The keys of the deliveries table. The first byte is the kind.
///
/// | kind | key | value |
/// |---|---|---|
/// | 1 | function, event | a ``Delivery`` that is pending or waiting |
/// | 2 | function, due time, event | of each pending one |
/// | 3 | function, event | a dead ``Delivery`` |
/// | 4 | function, order key, event | of each pending or waiting one of an ordering queue |
/// | 5 | queue, task's name | a ``TaskName`` |
/// | 6 | time, key of kind 5 | of each name that is to be freed |
/// | 7 | name | a record of the host, such as a schedule's state |
enum OutboxKey {
    static func pending(_ id: DeliveryID) -> [UInt8] { prefix(1, id.function) + bytes(id.event) }
    static func pending(of function: String) -> KeyRange { KeyRange(prefix: prefix(1, function)) }

    static func due(_ time: Timestamp, _ id: DeliveryID) -> [UInt8] {
        dueBound(time, id.function) + bytes(id.event)
    }

    static func due(of function: String) -> KeyRange { KeyRange(prefix: prefix(2, function)) }

    static func dueBound(_ time: Timestamp, _ function: String) -> [UInt8] {
        prefix(2, function) + bytes(time.microseconds)
    }

    static func dead(_ id: DeliveryID) -> [UInt8] { prefix(3, id.function) + bytes(id.event) }
    static func dead(of function: String) -> KeyRange { KeyRange(prefix: prefix(3, function)) }

    static func ordered(_ orderKey: [UInt8], of function: String) -> [UInt8] {
        var key = prefix(4, function)
        KeyBytes.append(orderKey, to: &key)
        return key
    }

    /// The places in all ordering queues of a function.
    static func places(of function: String) -> KeyRange { KeyRange(prefix: prefix(4, function)) }

    /// The order key in a key of kind 4; nil if it has none.
    static func orderKey(_ key: [UInt8], of function: String) -> [UInt8]? {
        let prefix = prefix(4, function)
        guard key.count > prefix.count + eventLength, key.starts(with: prefix) else { return nil }
        var bytes = key[prefix.count..<(key.count - eventLength)]
        guard bytes.popLast() == 0 else { return nil }
        var orderKey: [UInt8] = []
        while let byte = bytes.popFirst() {
            guard byte == 1 else {
                orderKey.append(byte)
                continue
            }
            guard let escaped = bytes.popFirst(), escaped > 0 else { return nil }
            orderKey.append(escaped - 1)
        }
        return orderKey
    }

    static func taskName(_ name: String, of queue: String) -> [UInt8] {
        var key = prefix(5, queue)
        KeyBytes.append(name.utf8, to: &key)
        return key
    }

    static let taskNameExpiries = ExpiryEntries(.deliveries, kind: 6)
    static func record(_ name: String) -> [UInt8] { [7] + Array(name.utf8) }

    static func event(_ id: EventID) -> [UInt8] { bytes(id) }
    /// The bytes of an event in a key.
    static let eventLength = 12
    /// The bytes of a due time in a key.
    static let timeLength = 8

    /// The event at the end of a key.
    static func event(at end: [UInt8]) throws(DecodingFailure) -> EventID {
        guard end.count >= eventLength else { throw DecodingFailure("a key of the deliveries is too short") }
        let tail = end.suffix(eventLength)
        let version = tail.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let ordinal = tail.suffix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return EventID(version: Int64(bitPattern: version ^ 1 << 63), ordinal: ordinal)
    }

    /// The time before the event in a key of kind 2.
    static func dueTime(_ key: [UInt8]) throws(DecodingFailure) -> Timestamp {
        guard key.count >= 21 else { throw DecodingFailure("a key of the due deliveries is too short") }
        let bits = key[(key.count - 20)..<(key.count - 12)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Timestamp(microseconds: Int64(bitPattern: bits ^ 1 << 63))
    }

    /// All keys of a kind.
    static func all(_ kind: UInt8) -> KeyRange { KeyRange(prefix: [kind]) }

    /// The function of a key of kind 1 or 3.
    static func function(_ key: [UInt8]) throws(DecodingFailure) -> String {
        guard key.count > 14, key[key.count - 13] == 0 else {
            throw DecodingFailure("a key of the deliveries names no function")
        }
        let bytes = key[1..<(key.count - 13)]
        // Names contain neither of the bytes that are escaped.
        guard bytes.allSatisfy({ $0 > 1 }), let name = String(validating: bytes, as: UTF8.self) else {
            throw DecodingFailure("a key of the deliveries names no function")
        }
        return name
    }

    /// The first key behind all those with the function of a key of kind 1 or 3, readable or not.
    static func afterFunction(of key: [UInt8]) -> [UInt8] {
        guard let end = key.dropFirst().firstIndex(of: 0) else { return key + [0] }
        // Ends in 0, so there is a successor.
        return KeyBytes.successor(ofPrefix: Array(key[...end])) ?? key + [0]
    }

    /// The name at the start of a key of any kind but 6 and 7.
    static func firstName(_ key: [UInt8]) -> String? {
        guard let end = key.firstIndex(of: 0), end > 1 else { return nil }
        return String(validating: key[1..<end], as: UTF8.self)
    }

    /// The task's name in a key of kind 5.
    static func secondName(_ key: [UInt8]) -> String? {
        guard let start = key.firstIndex(of: 0), key.last == 0, key.count > start + 2 else { return nil }
        return String(validating: key[(start + 1)..<(key.count - 1)], as: UTF8.self)
    }

    /// Of a key of kind 1 or 3.
    static func delivery(_ key: [UInt8]) throws(DecodingFailure) -> DeliveryID {
        DeliveryID(event: try event(at: key), function: try function(key))
    }

    private static func prefix(_ kind: UInt8, _ function: String) -> [UInt8] {
        var key: [UInt8] = [kind]
        KeyBytes.append(function.utf8, to: &key)
        return key
    }

    private static func bytes(_ id: EventID) -> [UInt8] {
        var key = bytes(id.version)
        for shift in stride(from: 24, through: 0, by: -8) { key.append(UInt8(truncatingIfNeeded: id.ordinal >> shift)) }
        return key
    }

    private static func bytes(_ number: Int64) -> [UInt8] {
        var key: [UInt8] = []
        KeyBytes.append(UInt64(bitPattern: number) ^ 1 << 63, to: &key)
        return key
    }
}
