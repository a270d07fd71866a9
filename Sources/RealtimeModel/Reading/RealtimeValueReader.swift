import CFunctionsSystem
import StrictJSON

/// Reads a value from JSON straight into nodes.
///
/// An array is an object whose keys are the indices. Nulls and empty objects don't exist. The limit on depth is checked
/// before each descent, so recursion is never deeper.
struct RealtimeValueReader: RealtimeTokenReader {
    var scanner: JSONScanner
    /// The path of the value that is read, from the root.
    private(set) var keys: [RealtimeKey]
    private let start: Int
    private var serverValues: [RealtimeWriteValue.Place] = []
    private var nodeCount = 0
    private let maxNodes: Int

    init(_ scanner: JSONScanner, at path: RealtimePath, maxNodes: Int = RealtimeLimits.maxWriteNodes) {
        self.maxNodes = maxNodes
        self.scanner = scanner
        keys = path.keys
        start = keys.count
    }

    mutating func writeValue() throws(RealtimeError) -> RealtimeWriteValue {
        let node = try value()
        // However many nulls the text has, it deletes one node.
        return RealtimeWriteValue(node, serverValues: serverValues, nodeCount: node == nil ? 1 : nodeCount)
    }

    /// Reads the value of a write to a priority: null, a number, a string, or a server value.
    mutating func priorityValue() throws(RealtimeError) -> RealtimeWriteValue {
        switch try priority() {
        case .none: RealtimeWriteValue(nil)
        case .leaf(let leaf): RealtimeWriteValue(RealtimeNode(leaf))
        case .server(let value):
            RealtimeWriteValue(
                RealtimeNode(.number(0)), serverValues: [.init(target: RealtimeTarget(.root), value: value)])
        }
    }

    // MARK: Values

    private mutating func value() throws(RealtimeError) -> RealtimeNode? {
        scanner.skipSpace()
        functions_step()
        nodeCount += 1
        guard nodeCount <= maxNodes else { throw error(.tooManyNodes, at: scanner.position) }
        switch scanner.peek() {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        default: return try scalar().map { RealtimeNode($0) }
        }
    }

    private mutating func array() throws(RealtimeError) -> RealtimeNode? {
        scanner.position += 1
        var children: [RealtimeChildren.Child] = []
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "]")) { return nil }
        var index = 0
        while true {
            let key = RealtimeKey(index: index)
            if let child = try child(key, at: scanner.position) { children.append((key, child)) }
            index += 1
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "]")) else { throw json(.missingElementSeparator) }
            return RealtimeNode(RealtimeChildren(sorted: children))
        }
    }

    private mutating func object() throws(RealtimeError) -> RealtimeNode? {
        scanner.position += 1
        var members = RealtimeMembers()
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "}")) { return nil }
        while true {
            try member(&members)
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "}")) else { throw json(.missingMemberSeparator) }
            return try node(of: &members)
        }
    }

    private mutating func member(_ members: inout RealtimeMembers) throws(RealtimeError) {
        scanner.skipSpace()
        let place = scanner.position
        guard scanner.peek() == UInt8(ascii: "\"") else { throw json(.missingKey) }
        let text = try string()
        try colon()
        if text.utf8.first == UInt8(ascii: ".") {
            switch text {
            case ".value" where members.value == nil: members.value = .some(try leaf(.valueNotLeaf))
            case ".priority" where members.priority == nil: members.priority = .some(try priority())
            case ".sv" where members.serverValue == nil: members.serverValue = try serverValue()
            case ".value", ".priority", ".sv": throw error(.repeatedKey(text), at: place)
            default: throw error(.unknownDottedKey(text), at: place)
            }
            return
        }
        guard RealtimeKey.isValid(text) else { throw error(.invalidKey(text), at: place) }
        let key = RealtimeKey(unchecked: text)
        members.append(key, try child(key, at: place))
    }

    private mutating func child(_ key: RealtimeKey, at place: Int) throws(RealtimeError) -> RealtimeNode? {
        guard keys.count < RealtimeLimits.maxDepth else { throw error(.tooDeep, at: place) }
        keys.append(key)
        let node = try value()
        keys.removeLast()
        return node
    }

    /// The node of an object's members.
    private mutating func node(of members: inout RealtimeMembers) throws(RealtimeError) -> RealtimeNode? {
        if let repeated = members.sort() { throw error(.repeatedKey(repeated.string)) }
        if let value = members.serverValue {
            guard members.isEmpty, members.value == nil, members.priority == nil else {
                throw error(.serverValueBesideOthers)
            }
            return placeholder(of: value)
        }
        let node: RealtimeNode?
        if let value = members.value {
            guard members.isEmpty else { throw error(.valueBesideChildren) }
            node =
                switch value {
                case .none: nil
                case .leaf(let leaf): RealtimeNode(leaf)
                case .server(let value): placeholder(of: value)
                }
        } else {
            node = RealtimeNode(RealtimeChildren(sorted: members.children))
        }
        guard var node, let priority = members.priority else { return node }
        switch priority {
        case .none: break
        case .leaf(let leaf): node.priority = RealtimePriority(leaf)
        case .server(let value):
            node.priority = 0
            serverValues.append(.init(target: RealtimeTarget(path, isPriority: true), value: value))
        }
        return node
    }

    /// The path of the value that is read, from the value that is written.
    private var path: RealtimePath { RealtimePath(unchecked: Array(keys[start...])) }

    private mutating func placeholder(of value: RealtimeServerValue) -> RealtimeNode {
        serverValues.append(.init(target: RealtimeTarget(path), value: value))
        return RealtimeNode(.number(0))
    }
}
