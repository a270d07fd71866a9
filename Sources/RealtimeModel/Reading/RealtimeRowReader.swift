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
        if known.mayHaveRepeated(), let repeated = try repeatedKey(from: start, among: known.count) {
            throw error(.repeatedKey(repeated))
        }
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

    /// The keys that are compared at a time.
    private static var maxCompared: Int { 65_536 }

    /// Reads the object that ends here again, and finds a key that it has twice: the first one, unless very many are
    /// repeated.
    ///
    /// It holds a hash of 4 bytes for each key, and only those keys whose hash another key has too.
    private mutating func repeatedKey(from start: Int, among count: Int) throws -> String? {
        var hashes: [UInt32] = []
        hashes.reserveCapacity(count)
        try readKeysAgain(from: start) { key in
            hashes.append(Self.shortHash(key))
            return true
        }
        hashes.sort()
        var index = 1
        while index < hashes.count {
            var shared: Set<UInt32> = []
            while index < hashes.count, shared.count < Self.maxCompared {
                if hashes[index] == hashes[index - 1] { shared.insert(hashes[index]) }
                index += 1
            }
            guard !shared.isEmpty else { return nil }
            var compared: Set<RealtimeKey> = []
            var repeated: String?
            try readKeysAgain(from: start) { key in
                guard shared.contains(Self.shortHash(key)), !compared.insert(key).inserted else { return true }
                repeated = key.string
                return false
            }
            if let repeated { return repeated }
        }
        return nil
    }

    private static func shortHash(_ key: RealtimeKey) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }

    /// Reads the keys without a dot of the object that ends here.
    ///
    /// - Parameter body: returns whether to go on.
    private mutating func readKeysAgain(from start: Int, _ body: (RealtimeKey) -> Bool) throws {
        let end = scanner.position
        defer { scanner.position = end }
        scanner.position = start + 1
        var count = 0
        repeat {
            functions_step()
            count += 1
            if count % Self.nodesBetweenTellings == 0 { try receiver.advanced(to: end) }
            scanner.skipSpace()
            let text = try string()
            try colon()
            do throws(JSONError) { try scanner.skipValue() } catch {
                throw RealtimeError(error, at: RealtimePath(unchecked: keys))
            }
            scanner.skipSpace()
            guard text.utf8.first == UInt8(ascii: ".") || body(RealtimeKey(unchecked: text)) else { return }
        } while scanner.take(UInt8(ascii: ","))
    }
}

/// The keys of an object while it is read.
///
/// Hashes of the first ones are kept, so that small objects needn't be read again to find a repeated key, and large ones
/// take no memory for each key.
struct KnownKeys {
    static let maxHashes = 4_096

    private(set) var count = 0
    private(set) var hashes: [Int] = []
    private var last: RealtimeKey?
    private var isSorted = true

    var isEmpty: Bool { count == 0 }

    mutating func append(_ key: RealtimeKey) {
        if isSorted, let last, RealtimeKey.compare(last, key) >= 0 { isSorted = false }
        last = key
        count += 1
        if count <= Self.maxHashes { hashes.append(key.hashValue) }
    }

    /// Whether two hashes are the same, or some weren't kept. Keys that come in their order differ.
    mutating func mayHaveRepeated() -> Bool {
        guard !isSorted else { return false }
        guard count == hashes.count else { return true }
        hashes.sort()
        return zip(hashes, hashes.dropFirst()).contains { $0 == $1 }
    }
}
