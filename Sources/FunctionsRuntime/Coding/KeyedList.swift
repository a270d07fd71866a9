/// An ordered list of unique names with values. Lookups are linear in a short list, and use an index in a long one.
/// Setting an existing name replaces its value in place.
struct KeyedList<Value> {
    private(set) var entries: [(key: String, value: Value)] = []
    /// Positions by name, once a linear search would be slower.
    private var index: [String: Int] = [:]

    /// The number of entries above which a hash lookup is faster than a linear search.
    private static var longestUnindexed: Int { 12 }

    init() {}

    var count: Int { entries.count }

    mutating func reserveCapacity(_ count: Int) { entries.reserveCapacity(count) }

    func position(of key: String) -> Int? {
        if !index.isEmpty { return index[key] }
        for position in entries.indices where entries[position].key == key { return position }
        return nil
    }

    subscript(key: String) -> Value? { position(of: key).map { entries[$0].value } }

    /// The value at a position returned by ``position(of:)``.
    subscript(position position: Int) -> Value {
        get { entries[position].value }
        set { entries[position].value = newValue }
    }

    /// - Returns: The position of the value.
    @discardableResult
    mutating func set(_ key: String, _ value: Value) -> Int {
        if let position = position(of: key) {
            entries[position].value = value
            return position
        }
        entries.append((key, value))
        if !index.isEmpty {
            index[key] = entries.count - 1
        } else if entries.count > Self.longestUnindexed {
            for (position, entry) in entries.enumerated() { index[entry.key] = position }
        }
        return entries.count - 1
    }

    @discardableResult
    mutating func remove(_ key: String) -> Value? {
        guard let position = position(of: key) else { return nil }
        let value = entries.remove(at: position).value
        if !index.isEmpty {
            index.removeAll(keepingCapacity: true)
            if entries.count > Self.longestUnindexed {
                for (position, entry) in entries.enumerated() { index[entry.key] = position }
            }
        }
        return value
    }
}

extension KeyedList: Sendable where Value: Sendable {}
