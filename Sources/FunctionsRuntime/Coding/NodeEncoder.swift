import StrictJSON

/// Encodes a value into a node of a tree.
final class NodeEncoder: Encoder {
    let form: EncodedForm
    private let parent: NodeEncoder?
    private let key: (any CodingKey)?
    private var state = State.nothing
    private var elements: [EncodedNode] = []
    private var fields = KeyedList<EncodedNode>()
    /// Children that are completed later: nested containers and superclasses.
    private var deferred: [(position: Int, encoder: NodeEncoder)] = []

    private enum State {
        case nothing
        case single(EncodedNode)
        case array
        case map
        /// The value requested containers of two kinds.
        case contradictory
    }

    init(_ form: EncodedForm, root: String? = nil) {
        self.form = form
        parent = nil
        key = root.map { PathKey.name($0) }
    }

    private init(below parent: NodeEncoder, key: any CodingKey) {
        form = parent.form
        self.parent = parent
        self.key = key
    }

    private init(standingFor other: NodeEncoder) {
        form = other.form
        parent = other.parent
        key = other.key
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var level: NodeEncoder? = self
        while let current = level {
            if let key = current.key { path.append(key) }
            level = current.parent
        }
        return path.reversed()
    }

    /// Encodes a whole value.
    func encodeRoot(_ value: some Encodable) throws -> EncodedNode {
        if let node = try known(value, key: nil) { return node }
        try value.encode(to: self)
        guard let node = try finish(value) else {
            throw invalid(value, "\(type(of: value)) encoded nothing", key: nil)
        }
        return node
    }

    /// Encodes a child; nil if it encoded nothing.
    func part<T: Encodable>(_ value: T, key: some CodingKey) throws -> EncodedNode? {
        if let node = try known(value, key: key) { return node }
        let child = NodeEncoder(below: self, key: key)
        try value.encode(to: child)
        return try child.finish(value)
    }

    /// Encodes a value that is the only content; nil if it encoded nothing.
    func whole<T: Encodable>(_ value: T) throws -> EncodedNode? {
        if let node = try known(value, key: nil) { return node }
        let stand = NodeEncoder(standingFor: self)
        try value.encode(to: stand)
        return try stand.finish(value)
    }

    private func known<T: Encodable>(_ value: T, key: (any CodingKey)?) throws -> EncodedNode? {
        switch form.native(value) {
        case .foreign: return nil
        case .node(let node): return node
        case .failure(let reason): throw invalid(value, reason, key: key)
        }
    }

    func integer(_ value: some FixedWidthInteger, key: (any CodingKey)?) throws -> EncodedNode {
        if let value = Int64(exactly: value) { return .json(.integer(value)) }
        guard let value = UInt64(exactly: value), form.isJSON else {
            throw invalid(value, "the number doesn't fit 64 bits with a sign", key: key)
        }
        return .json(.unsigned(value))
    }

    /// In JSON, the double with the float's digits: 0.1 instead of 0.10000000149.
    func float(_ value: Float) -> EncodedNode {
        .json(.double(form.isJSON ? Double(value.description) ?? Double(value) : Double(value)))
    }

    /// The encoded node; nil if nothing was encoded.
    ///
    /// - Parameter value: what was encoded; nil for a nested container or a superclass.
    private func finish(_ value: (any Encodable)? = nil) throws -> EncodedNode? {
        switch state {
        case .nothing: return nil
        case .single(let node): return node
        case .array:
            for (position, encoder) in deferred { elements[position] = try encoder.finish() ?? .map(KeyedList()) }
            return .array(elements)
        case .map:
            for (position, encoder) in deferred {
                let node = try encoder.finish() ?? .map(KeyedList())
                if form == .realtime, fields.count == 1, node.isNothing, let value,
                    Mirror(reflecting: value).displayStyle == .enum
                {
                    throw invalid(self, Self.lostCase, key: encoder.key)
                }
                fields[position: position] = node
            }
            return .map(fields)
        case .contradictory:
            // What was deferred may belong to either container.
            throw invalid(self, "the value encodes itself in two ways at once", key: nil)
        }
    }

    private static let lostCase =
        "an enum's case without values is an empty object, of which the Realtime Database keeps nothing; give the enum "
        + "raw values"

    /// The error contains the value's type, not the value: errors are logged, and describing a non-finite `Date` traps.
    private func invalid<T>(_ value: T, _ reason: String, key: (any CodingKey)?) -> EncodingError {
        .invalidValue(T.self, .init(codingPath: codingPath + (key.map { [$0] } ?? []), debugDescription: reason))
    }

    // MARK: Used by containers

    func set(_ node: EncodedNode) {
        if case .nothing = state { state = .single(node) } else { state = .contradictory }
    }

    func set(_ key: String, _ node: EncodedNode) {
        let position = fields.set(key, node)
        if !deferred.isEmpty { deferred.removeAll { $0.position == position } }
    }

    var count: Int { elements.count }

    func append(_ node: EncodedNode) { elements.append(node) }

    /// A child of an object that is completed later.
    func deferPart(_ key: some CodingKey) -> NodeEncoder {
        let position = fields.set(key.stringValue, .null)
        let encoder = NodeEncoder(below: self, key: key)
        deferred.append((position, encoder))
        return encoder
    }

    /// A nested container of an object. It goes on if it was requested before, as in Foundation.
    func nestedPart(_ key: some CodingKey) -> NodeEncoder {
        guard let position = fields.position(of: key.stringValue),
            let begun = deferred.last(where: { $0.position == position })
        else { return deferPart(key) }
        return begun.encoder
    }

    /// An element that is completed later.
    func deferElement() -> NodeEncoder {
        let encoder = NodeEncoder(below: self, key: PathKey.index(elements.count))
        deferred.append((elements.count, encoder))
        elements.append(.null)
        return encoder
    }

    // MARK: Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        switch state {
        case .nothing: state = .map
        case .map: break
        default: state = .contradictory
        }
        return KeyedEncodingContainer(KeyedPartsContainer(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        switch state {
        case .nothing: state = .array
        case .array: break
        default: state = .contradictory
        }
        return UnkeyedPartsContainer(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SinglePartContainer(encoder: self) }
}
