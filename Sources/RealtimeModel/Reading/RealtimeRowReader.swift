import CFunctionsSystem
import StrictJSON

/// Receives what a ``RealtimeRowReader`` reads, as rows in the order of the text.
package protocol RealtimeTextReceiver {
    /// A leaf. The keys are those from the root of the database.
    mutating func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at keys: [RealtimeKey]) throws

    /// The priority of an object that has children.
    mutating func priority(_ priority: RealtimePriority, at keys: [RealtimeKey]) throws

    /// Called from time to time with the number of bytes that were read.
    mutating func advanced(to position: Int) throws
}

/// A text has a server value, which is computed when it is written.
package struct HasServerValue: Error, Hashable, Sendable {
    /// The node that has it, from the root of the database.
    package var path: RealtimePath
    /// The offset in the text at which it was found.
    package var offset: Int
}

/// Reads a large value from JSON and gives its rows away, so that the value is never held. It reads what
/// ``RealtimeValueReader`` does, but for server values.
package struct RealtimeRowReader<Receiver: RealtimeTextReceiver>: RealtimeTokenReader {
    var scanner: JSONScanner
    private(set) var keys: [RealtimeKey]
    private var nodeCount = 0
    private let maxNodes: Int
    private var receiver: Receiver

    private static var nodesBetweenTellings: Int { 4_096 }

    private init(
        _ bytes: UnsafeRawBufferPointer, at path: RealtimePath, maxNodes: Int, to receiver: consuming Receiver
    ) {
        scanner = JSONScanner(bytes)
        keys = path.keys
        self.maxNodes = maxNodes
        self.receiver = receiver
    }

    /// Reads a whole text.
    ///
    /// - Parameters:
    ///   - path: what the value is written to.
    ///   - receiver: receives the rows, and returns to the caller with what it has.
    /// - Throws: `RealtimeError`, the first one in the text; `HasServerValue`; or what the receiver throws.
    package static func read(
        _ bytes: UnsafeRawBufferPointer, at path: RealtimePath, maxNodes: Int = RealtimeLimits.maxStagedNodes,
        to receiver: inout Receiver
    ) throws {
        var reader = RealtimeRowReader(bytes, at: path, maxNodes: maxNodes, to: receiver)
        defer { receiver = reader.receiver }
        _ = try reader.value()
        do throws(JSONError) { try reader.scanner.end() } catch { throw RealtimeError(error, at: path) }
    }

    // MARK: Values

    /// - Returns: whether the value exists.
    private mutating func value() throws -> Bool {
        scanner.skipSpace()
        functions_step()
        nodeCount += 1
        guard nodeCount <= maxNodes else { throw error(.tooManyNodes, at: scanner.position) }
        if nodeCount % Self.nodesBetweenTellings == 0 { try receiver.advanced(to: scanner.position) }
        switch scanner.peek() {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        default:
            guard let leaf = try scalar() else { return false }
            try receiver.leaf(leaf, priority: nil, at: keys)
            return true
        }
    }

    private mutating func array() throws -> Bool {
        scanner.position += 1
        var exists = false
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "]")) { return exists }
        var index = 0
        while true {
            if try child(RealtimeKey(index: index), at: scanner.position) { exists = true }
            index += 1
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "]")) else { throw json(.missingElementSeparator) }
            return exists
        }
    }

    private mutating func object() throws -> Bool {
        let start = scanner.position
        scanner.position += 1
        var exists = false
        var value: RealtimeMembers.Scalar?
        var priority: RealtimeMembers.Scalar?
        var known = KnownKeys()
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "}")) { return exists }
        while true {
            scanner.skipSpace()
            let place = scanner.position
            guard scanner.peek() == UInt8(ascii: "\"") else { throw json(.missingKey) }
            let text = try string()
            try colon()
            switch text {
            case ".value" where value == nil: value = try leaf(.valueNotLeaf)
            case ".priority" where priority == nil: priority = try self.priority()
            case ".sv": throw hasServerValue
            case ".value", ".priority": throw error(.repeatedKey(text), at: place)
            case _ where text.utf8.first == UInt8(ascii: "."): throw error(.unknownDottedKey(text), at: place)
            default:
                guard RealtimeKey.isValid(text) else { throw error(.invalidKey(text), at: place) }
                let key = RealtimeKey(unchecked: text)
                known.append(key)
                if try child(key, at: place) { exists = true }
            }
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "}")) else { throw json(.missingMemberSeparator) }
            break
        }
        if known.mayHaveRepeated(), let repeated = try repeatedKey(from: start) { throw error(.repeatedKey(repeated)) }
        if let value {
            guard known.isEmpty else { throw error(.valueBesideChildren) }
            guard let leaf = try own(value) else { return false }
            try receiver.leaf(leaf, priority: try own(priority), at: keys)
            return true
        }
        if exists, let own = try own(priority) { try receiver.priority(own, at: keys) }
        return exists
    }

    private mutating func child(_ key: RealtimeKey, at place: Int) throws -> Bool {
        guard keys.count < RealtimeLimits.maxDepth else { throw error(.tooDeep, at: place) }
        keys.append(key)
        defer { keys.removeLast() }
        return try value()
    }

    private var hasServerValue: HasServerValue {
        HasServerValue(path: RealtimePath(unchecked: keys), offset: scanner.position)
    }

    private func own(_ scalar: RealtimeMembers.Scalar) throws -> RealtimeLeaf? {
        switch scalar {
        case .none: return nil
        case .leaf(let leaf): return leaf
        case .server: throw hasServerValue
        }
    }

    private func own(_ priority: RealtimeMembers.Scalar?) throws -> RealtimePriority? {
        try priority.flatMap { try own($0) }.flatMap { RealtimePriority($0) }
    }

    // MARK: Repeated keys

    /// The first key that the object at a position has twice.
    private func repeatedKey(from start: Int) throws -> String? {
        var scanner = scanner
        scanner.position = start + 1
        var keys: Set<String> = []
        do throws(JSONError) {
            while true {
                scanner.skipSpace()
                let key = try scanner.string()
                if key.utf8.first != UInt8(ascii: "."), !keys.insert(key).inserted { return key }
                scanner.skipSpace()
                guard scanner.take(UInt8(ascii: ":")) else { return nil }
                scanner.skipSpace()
                try scanner.skipValue()
                scanner.skipSpace()
                guard scanner.take(UInt8(ascii: ",")) else { return nil }
            }
        } catch {
            throw RealtimeError(error, at: RealtimePath(unchecked: self.keys))
        }
    }
}

/// The keys of an object while it is read, of which only hashes are kept.
private struct KnownKeys {
    private var hashes: [Int] = []
    private var last: RealtimeKey?
    private var isSorted = true

    var isEmpty: Bool { hashes.isEmpty }

    mutating func append(_ key: RealtimeKey) {
        if isSorted, let last, RealtimeKey.compare(last, key) >= 0 { isSorted = false }
        hashes.append(key.hashValue)
        last = key
    }

    /// Whether two hashes are the same. Keys that come in their order differ.
    mutating func mayHaveRepeated() -> Bool {
        guard !isSorted else { return false }
        hashes.sort()
        return zip(hashes, hashes.dropFirst()).contains { $0 == $1 }
    }
}
