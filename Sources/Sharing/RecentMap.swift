/// Values by key within some memory, of which those stay that are used again and again.
///
/// Two generations approximate a least-recently-used list: what is used goes to the young one. Once that has half of the
/// memory, the old one is evicted, and the young one becomes old.
package struct RecentMap<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Generation = [Key: (value: Value, bytes: Int)]

    private var young: Generation = [:]
    private var old: Generation = [:]
    private var youngBytes = 0
    private var oldBytes = 0
    private var evicted: Generation = [:]
    private let maxBytes: Int

    /// - Parameter maxBytes: what the values may take together.
    package init(maxBytes: Int) { self.maxBytes = maxBytes }

    package var bytes: Int { youngBytes + oldBytes }

    /// The value, which counts as used.
    package mutating func use(_ key: Key) -> Value? {
        if let found = young[key] { return found.value }
        guard let found = old.removeValue(forKey: key) else { return nil }
        oldBytes -= found.bytes
        add(found.value, bytes: found.bytes, key)
        return found.value
    }

    /// - Parameter bytes: what it takes. A value of more than half of the memory isn't kept.
    package mutating func set(_ value: Value, bytes: Int, for key: Key) {
        remove(key)
        add(value, bytes: bytes, key)
    }

    /// Removes a value.
    package mutating func take(_ key: Key) -> Value? {
        if let found = young.removeValue(forKey: key) {
            youngBytes -= found.bytes
            return found.value
        }
        guard let found = old.removeValue(forKey: key) else { return nil }
        oldBytes -= found.bytes
        return found.value
    }

    /// - Returns: whether there was a value.
    @discardableResult
    package mutating func remove(_ key: Key) -> Bool { take(key) != nil }

    /// What was evicted last, so that a caller with a lock can free it without.
    package mutating func takeEvicted() -> any Sendable {
        defer { evicted = [:] }
        return evicted
    }

    package mutating func removeAll() { self = RecentMap(maxBytes: maxBytes) }

    private mutating func add(_ value: Value, bytes: Int, _ key: Key) {
        guard bytes <= maxBytes / 2 else { return }
        if youngBytes + bytes > maxBytes / 2 {
            evicted = old
            (old, oldBytes) = (young, youngBytes)
            (young, youngBytes) = ([:], 0)
        }
        young[key] = (value, bytes)
        youngBytes += bytes
    }
}
