import StrictJSON

/// Decodes a type from a node.
///
/// A decoder knows its parent and its own key, so the path is built only for errors.
final class NodeDecoder: Decoder {
    let node: DecodingNode
    let context: DecodingContext
    private let parent: NodeDecoder?
    private let key: (any CodingKey)?

    init(_ node: DecodingNode, context: DecodingContext, root: String? = nil) {
        self.node = node
        self.context = context
        parent = nil
        key = root.map { PathKey.name($0) }
    }

    private init(_ node: DecodingNode, below parent: NodeDecoder, key: any CodingKey) {
        self.node = node
        context = parent.context
        self.parent = parent
        self.key = key
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var level: NodeDecoder? = self
        while let current = level {
            if let key = current.key { path.append(key) }
            level = current.parent
        }
        return path.reversed()
    }

    /// Decodes the node itself.
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if let value = try known(type, node, key: nil) { return value }
        return try T(from: self)
    }

    /// Decodes a child of the node.
    func decode<T: Decodable>(_ type: T.Type, _ part: DecodingNode, key: any CodingKey) throws -> T {
        if let value = try known(type, part, key: key) { return value }
        return try T(from: child(part, key: key))
    }

    func child(_ part: DecodingNode, key: any CodingKey) -> NodeDecoder { NodeDecoder(part, below: self, key: key) }

    /// A value that needs no nested decoder.
    private func known<T: Decodable>(_ type: T.Type, _ node: DecodingNode, key: (any CodingKey)?) throws -> T? {
        if type == String.self { return try string(node, key: key) as? T }
        if type == Int.self { return try integer(Int.self, node, key: key) as? T }
        switch node.native(type, in: context) {
        case .foreign: return nil
        case .value(let value): return value
        case .mismatch(let expected): throw mismatch(type, expected, node, key: key)
        }
    }

    // MARK: Values without parts

    func bool(_ node: DecodingNode, key: (any CodingKey)?) throws -> Bool {
        guard let value = node.bool else { throw mismatch(Bool.self, "a boolean", node, key: key) }
        return value
    }

    func string(_ node: DecodingNode, key: (any CodingKey)?) throws -> String {
        guard let value = node.string else { throw mismatch(String.self, "a string", node, key: key) }
        return value
    }

    func integer<T: FixedWidthInteger>(_ type: T.Type, _ node: DecodingNode, key: (any CodingKey)?) throws -> T {
        guard let number = node.number else { throw mismatch(type, "an integer", node, key: key) }
        if let value = number.exactly(type) { return value }
        if case .double(let value) = number, value != value.rounded(.towardZero) {
            throw mismatch(type, "an integer", node, key: key)
        }
        let reason = "the number is not within \(T.min)...\(T.max)"
        throw DecodingError.dataCorrupted(.init(codingPath: path(to: key), debugDescription: reason))
    }

    func double(_ node: DecodingNode, key: (any CodingKey)?) throws -> Double {
        guard let number = node.number else { throw mismatch(Double.self, "a number", node, key: key) }
        return number.double
    }

    func float(_ node: DecodingNode, key: (any CodingKey)?) throws -> Float {
        let wide = try double(node, key: key)
        let value = Float(wide)
        guard value.isFinite || !wide.isFinite else {
            let reason = "the number is too large for a Float"
            throw DecodingError.dataCorrupted(.init(codingPath: path(to: key), debugDescription: reason))
        }
        return value
    }

    // MARK: Containers

    func elements(_ node: DecodingNode, key: (any CodingKey)?) throws -> NodeElements {
        guard let elements = node.elements else { throw mismatch([Any].self, "an array", node, key: key) }
        return elements
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        if let fields = node.fields { return KeyedDecodingContainer(KeyedNodeContainer(self, fields)) }
        // A type with other names would take the array for an object without them.
        if context.isRealtime, let fields = node.numberedFields,
            fields.keys.contains(where: { Key(stringValue: $0) != nil })
        {
            return KeyedDecodingContainer(KeyedNodeContainer(self, fields))
        }
        throw mismatch([String: Any].self, "an object", node, key: nil)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        UnkeyedNodeContainer(self, try elements(node, key: nil))
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { SingleNodeContainer(decoder: self) }

    // MARK: Errors

    func path(to key: (any CodingKey)?) -> [any CodingKey] { codingPath + (key.map { [$0] } ?? []) }

    func mismatch(
        _ type: any Any.Type, _ expected: String, _ found: DecodingNode, key: (any CodingKey)?
    ) -> DecodingError {
        let reason = "expected \(expected), found \(found.kind)"
        let context = DecodingError.Context(codingPath: path(to: key), debugDescription: reason)
        return found.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}
