/// Values by key within some memory, of which those stay that are used again and again.
///
/// They are in two halves: what was used since the last turn, and what wasn't since then. Once the first is full, it becomes
/// the second, whose values are dropped.
package struct RecentMap<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Half = [Key: (value: Value, bytes: Int)]

    private var recent: Half = [:]
    private var earlier: Half = [:]
    private var recentBytes = 0
    private var earlierBytes = 0
    private let maxBytes: Int

    /// - Parameter maxBytes: what the values may take together.
    package init(maxBytes: Int) { self.maxBytes = maxBytes }

    package var bytes: Int { recentBytes + earlierBytes }

    /// The value, which counts as used.
    package mutating func use(_ key: Key) -> Value? {
        if let found = recent[key] { return found.value }
        guard let found = earlier.removeValue(forKey: key) else { return nil }
        earlierBytes -= found.bytes
        add(found.value, bytes: found.bytes, key)
        return found.value
    }

    /// - Parameter bytes: what it takes. A value of more than half of the memory isn't kept.
    package mutating func set(_ value: Value, bytes: Int, for key: Key) {
        remove(key)
        add(value, bytes: bytes, key)
    }

    /// - Returns: whether there was a value.
    @discardableResult
    package mutating func remove(_ key: Key) -> Bool {
        if let found = recent.removeValue(forKey: key) {
            recentBytes -= found.bytes
        } else if let found = earlier.removeValue(forKey: key) {
            earlierBytes -= found.bytes
        } else {
            return false
        }
        return true
    }

    package mutating func removeAll() { self = RecentMap(maxBytes: maxBytes) }

    private mutating func add(_ value: Value, bytes: Int, _ key: Key) {
        guard bytes <= maxBytes / 2 else { return }
        if recentBytes + bytes > maxBytes / 2 {
            (earlier, earlierBytes) = (recent, recentBytes)
            (recent, recentBytes) = ([:], 0)
        }
        recent[key] = (value, bytes)
        recentBytes += bytes
    }
}
