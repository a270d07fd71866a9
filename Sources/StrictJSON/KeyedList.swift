/// An ordered list of unique names with values. Lookups are linear in a short list, and use an index in a long one.
/// Setting an existing name replaces its value in place.
public struct KeyedList<Value> {
    @usableFromInline package internal(set) var entries: [(key: String, value: Value)] = []
    /// Positions by name, once a linear search would be slower.
    @usableFromInline var index: [String: Int] = [:]
    /// Whether there are names that are equal as texts and differ in their bytes: Swift's strings are equal if they
    /// are canonically equivalent.
    @usableFromInline var hasEquivalents = false

    /// The number of entries above which a hash lookup is faster than a linear search.
    @inlinable
    static var longestUnindexed: Int { 12 }

    @inlinable
    public init() {}

    @inlinable
    public var count: Int { entries.count }

    @inlinable
    public mutating func reserveCapacity(_ count: Int) { entries.reserveCapacity(count) }

    /// Of names that are equal as texts, the one with these bytes; if none has them, any.
    @inlinable
    public func position(of key: String) -> Int? {
        guard let position = equivalentPosition(of: key) else { return nil }
        guard hasEquivalents, !Self.haveSameBytes(entries[position].key, key) else { return position }
        return entries.firstIndex { Self.haveSameBytes($0.key, key) } ?? position
    }

    @inlinable
    func equivalentPosition(of key: String) -> Int? {
        if !index.isEmpty { return index[key] }
        for position in entries.indices where entries[position].key == key { return position }
        return nil
    }

    @inlinable
    static func haveSameBytes(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

    @inlinable
    public subscript(key: String) -> Value? { position(of: key).map { entries[$0].value } }

    /// The value at a position returned by ``position(of:)``.
    @inlinable
    public subscript(position position: Int) -> Value {
        get { entries[position].value }
        set { entries[position].value = newValue }
    }

    /// - Returns: The position of the value.
    @inlinable
    @discardableResult
    public mutating func set(_ key: String, _ value: Value) -> Int {
        if let position = position(of: key) {
            entries[position].value = value
            return position
        }
        append(key, value)
        return entries.count - 1
    }

    /// Adds a value at the end.
    ///
    /// - Returns: False if the name exists already; then nothing changes.
    @inlinable
    public mutating func appendIfNew(_ key: String, _ value: Value) -> Bool {
        guard position(of: key) == nil else { return false }
        append(key, value)
        return true
    }

    /// Adds a value at the end. Its name isn't there with the same bytes, perhaps with others that are equal as text.
    package mutating func appendAsWritten(_ key: String, _ value: Value) {
        if equivalentPosition(of: key) != nil { hasEquivalents = true }
        append(key, value)
    }

    @inlinable
    mutating func append(_ key: String, _ value: Value) {
        entries.append((key, value))
        if !index.isEmpty {
            index[key] = entries.count - 1
        } else if entries.count > Self.longestUnindexed {
            for (position, entry) in entries.enumerated() { index[entry.key] = position }
        }
    }

    @inlinable
    @discardableResult
    public mutating func remove(_ key: String) -> Value? {
        guard let position = position(of: key) else { return nil }
        let value = entries.remove(at: position).value
        if !index.isEmpty {
            index.removeAll(keepingCapacity: true)
            if entries.count > Self.longestUnindexed {
                for (position, entry) in entries.enumerated() { index[entry.key] = position }
            }
        }
        if hasEquivalents { hasEquivalents = Set(entries.map(\.key)).count < entries.count }
        return value
    }
}

extension KeyedList: Sendable where Value: Sendable {}
