/// The members of a JSON object, in their order.
///
/// Two objects are equal if they have the same members in any order.
public struct JSONObject: Sendable {
    package internal(set) var members: KeyedList<JSONValue>

    public init() { members = KeyedList() }

    package init(_ members: KeyedList<JSONValue>) { self.members = members }

    /// If a key is repeated, the last value counts.
    public init(_ members: some Sequence<(String, JSONValue)>) {
        self.init()
        for (key, value) in members { self.members.set(key, value) }
    }

    /// - Parameter members: No key is there twice with the same bytes. Those that are equal as texts stay apart.
    package init(distinct members: some Sequence<(String, JSONValue)>) {
        self.init()
        for (key, value) in members { self.members.appendAsWritten(key, value) }
    }

    public var keys: [String] { members.entries.map(\.key) }

    public subscript(key: String) -> JSONValue? {
        get { members[key] }
        set {
            if let newValue { members.set(key, newValue) } else { members.remove(key) }
        }
    }
}

extension JSONObject: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { members.count }
    public subscript(position: Int) -> (key: String, value: JSONValue) { members.entries[position] }
}

extension JSONObject: Hashable {
    public static func == (a: JSONObject, b: JSONObject) -> Bool {
        a.count == b.count && a.members.hasEquivalents == b.members.hasEquivalents
            && a.allSatisfy { key, value in
                guard let position = b.members.position(of: key), b[position].value == value else { return false }
                return !a.members.hasEquivalents || KeyedList<JSONValue>.haveSameBytes(b[position].key, key)
            }
    }

    public func hash(into hasher: inout Hasher) {
        // Members are mixed in a way that doesn't depend on their order.
        var mixed = 0
        for (key, value) in self {
            var member = Hasher()
            member.combine(key)
            member.combine(value)
            mixed ^= member.finalize()
        }
        hasher.combine(count)
        hasher.combine(mixed)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral members: (String, JSONValue)...) { self.init(members) }
}
