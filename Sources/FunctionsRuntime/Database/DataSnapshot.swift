import RealtimeModel
public import StrictJSON

/// What exists at a place of the Realtime Database at one time, which may be nothing.
public struct DataSnapshot: Sendable {
    private let database: Database
    let path: RealtimePath
    let node: RealtimeNode?
    /// What the children are ordered by.
    private let index: RealtimeQuery.Index

    init(
        _ node: RealtimeNode?, in database: Database, at path: RealtimePath,
        orderedBy index: RealtimeQuery.Index = .priority
    ) {
        self.node = node
        self.database = database
        self.path = path
        self.index = index
    }

    /// The place itself.
    public var ref: DatabaseReference { database.reference(withPath: path.string) }

    /// The last key of the path; nil for the root.
    public var key: String? { path.keys.last?.string }

    public func exists() -> Bool { node != nil }

    /// The value without priorities; nil if there is none. An object whose keys are mostly 0, 1, 2 … is an array, in
    /// which missing elements are null.
    public var value: JSONValue? { node.map { JSONValue($0, as: .plain) } }

    /// The value with priorities, in the form in which Firebase exports it: `.priority` beside an object's children, and
    /// beside a leaf's `.value`. Nil if there is none.
    public var valueInExportFormat: JSONValue? { node.map { JSONValue($0, as: .export) } }

    /// A number or a string; nil if there is none.
    public var priority: JSONValue? { node?.priority.map { JSONValue($0.leaf) } }

    /// Decodes the value as a `Codable` type. A dictionary may also be an object whose keys are mostly 0, 1, 2 …, which ``value``
    /// has as an array. Of keys that are equal as Swift's strings (an é in one part or in two), a dictionary has one;
    /// ``value`` and ``children`` have all. A property that is an array, a dictionary or a set is empty if it is
    /// missing: the database keeps no empty ones.
    ///
    /// - Throws: `DocumentError` with `notFound` if nothing exists and the type isn't an optional; `DecodingError`, with the
    ///   place, if the value doesn't have the type.
    public func data<T: Decodable>(as type: T.Type = T.self) throws -> T {
        guard let value else {
            if let nothing = (T.self as? any OptionalValue.Type)?.nothing as? T { return nothing }
            throw DocumentError(.notFound, "there is no value at \(path)")
        }
        return try NodeDecoder(.json(value), context: .realtime, root: path.isRoot ? nil : path.string).decode(type)
    }

    // MARK: Children

    /// - Parameter path: keys joined by slashes. For a path that can't be, nothing exists.
    public func childSnapshot(forPath path: String) -> DataSnapshot {
        guard let relative = try? RealtimePath(path), let full = try? self.path.appending(relative) else {
            return DataSnapshot(nil, in: database, at: self.path)
        }
        return DataSnapshot(node?[relative], in: database, at: full)
    }

    public func hasChild(_ path: String) -> Bool { childSnapshot(forPath: path).exists() }

    public func hasChildren() -> Bool { childrenCount > 0 }

    public var childrenCount: Int { node?.children.count ?? 0 }

    /// In the order of the query; without one, by priority, then by key.
    public var children: [DataSnapshot] { node.map { ordered($0.children) } ?? [] }

    /// The children with these keys, in the same order.
    func children(of keys: Set<RealtimeKey>) -> [DataSnapshot] {
        guard let node else { return [] }
        return ordered(keys.compactMap { key in node[key].map { (key: key, node: $0) } })
    }

    private func ordered(_ children: some Sequence<RealtimeChildren.Child>) -> [DataSnapshot] {
        let entries = children.map { child in
            (RealtimeIndexEntry(value: index.value(of: child.node), key: child.key), child.node)
        }
        return entries.sorted { $0.0 < $1.0 }
            .map { DataSnapshot($0.1, in: database, at: path.child($0.0.key)) }
    }
}

extension DataSnapshot: Equatable {
    /// Whether the same value is at the same path, in the same order.
    public static func == (a: DataSnapshot, b: DataSnapshot) -> Bool {
        a.path == b.path && a.index == b.index && a.node == b.node
    }
}

extension DataSnapshot: CustomStringConvertible {
    public var description: String { "\(path): \(value ?? .null)" }
}

extension JSONValue {
    init(_ node: RealtimeNode, as form: RealtimeForm) {
        let priority = form.hasPriorities ? node.priority.map { JSONValue($0.leaf) } : nil
        if let leaf = node.leaf {
            self = priority.map { [".value": JSONValue(leaf), ".priority": $0] } ?? JSONValue(leaf)
        } else if form.hasArrays, node.children.isArray {
            var elements: [JSONValue] = []
            for child in node.children {
                guard let index = child.key.arrayIndex else { continue }
                while elements.count < index { elements.append(.null) }
                elements.append(JSONValue(child.node, as: form))
            }
            self = .array(elements)
        } else {
            var members = node.children.map { ($0.key.string, JSONValue($0.node, as: form)) }
            if let priority { members.append((".priority", priority)) }
            // Keys are distinguished by their bytes, as the database does.
            self = .object(JSONObject(distinct: members))
        }
    }

    init(_ leaf: RealtimeLeaf) {
        switch leaf {
        case .boolean(let value): self = .bool(value)
        case .number(let number): self = number.integer.map { .integer($0) } ?? .double(number.double)
        case .string(let text): self = .string(text)
        }
    }
}
