package import StrictJSON

/// The value of a write before the server computes its server values.
package struct RealtimeWriteValue: Sendable {
    /// A place that a server value fills.
    package struct Place: Hashable, Sendable {
        /// From the value's root.
        package var target: RealtimeTarget
        package var value: RealtimeServerValue
    }

    /// The value, with 0 in each place of a server value. Nil deletes.
    private var node: RealtimeNode?
    package private(set) var serverValues: [Place]
    /// How many nodes the text had, about; 1 if it deletes.
    package private(set) var nodeCount: Int
    /// A large value, which isn't in memory; it has no server values.
    package let staged: StagedValue?

    /// Whether it is nothing, or a leaf that takes next to no time to look at.
    package var isShortLeaf: Bool {
        guard staged == nil, let node else { return staged == nil }
        if case .string(let text)? = node.leaf { return text.utf8.count <= 256 }
        return node.leaf != nil
    }

    package init(_ node: RealtimeNode?) { self.init(node, serverValues: []) }

    package init(_ staged: StagedValue) {
        node = nil
        serverValues = []
        nodeCount = staged.rowCount
        self.staged = staged
    }

    init(_ node: RealtimeNode?, serverValues: [Place], nodeCount: Int = 1) {
        self.node = node
        self.serverValues = serverValues
        self.nodeCount = nodeCount
        staged = nil
    }

    /// Parses a JSON text.
    ///
    /// - Parameters:
    ///   - bytes: the text, up to its end.
    ///   - target: what the value is written to. The depth is counted from the root, and errors name places below it.
    /// - Throws: The first error in the text.
    package init(parsing bytes: UnsafeRawBufferPointer, at target: RealtimeTarget) throws(RealtimeError) {
        var scanner = JSONScanner(bytes)
        try self.init(scanning: &scanner, at: target)
        do throws(JSONError) { try scanner.end() } catch { throw RealtimeError(error, at: target.path) }
    }

    /// Parses a JSON text.
    ///
    /// - Throws: The first error in the text.
    package init(parsing bytes: [UInt8], at target: RealtimeTarget) throws(RealtimeError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(RealtimeError) in try RealtimeWriteValue(parsing: buffer, at: target) }
        }
        self = try result.get()
    }

    /// Parses the JSON value that a scanner stands before, as within a message.
    package init(scanning scanner: inout JSONScanner, at target: RealtimeTarget) throws(RealtimeError) {
        var reader = RealtimeValueReader(scanner, at: target.path)
        defer { scanner = reader.scanner }
        self = target.isPriority ? try reader.priorityValue() : try reader.writeValue()
    }

    /// Replaces a part of the value. Looks at all server values.
    package mutating func set(_ part: RealtimeWriteValue, at path: RealtimePath) {
        node.set(part.node, at: path)
        serverValues.removeAll { place in
            // A leaf above becomes an object.
            let isReplaced = part.node != nil && !place.target.isPriority && place.target.path.contains(path)
            return isReplaced || path.contains(place.target.path) || node?[place.target.path] == nil
        }
        serverValues += part.serverValues.map { place in
            Place(target: RealtimeTarget(path).appending(place.target), value: place.value)
        }
        nodeCount += part.nodeCount
    }

    /// Replaces the priority of a part of the value, if there is such a part.
    package mutating func setPriority(_ priority: RealtimePriority?, at path: RealtimePath) {
        node.set(priority.map { RealtimeNode($0.leaf) }, at: RealtimeTarget(path, isPriority: true))
        serverValues.removeAll { $0.target == RealtimeTarget(path, isPriority: true) }
    }

    /// What is left without what the value has at a path: the parts beside the path, and beside each key on the way to
    /// it. Priorities of the objects on the way aren't left.
    ///
    /// - Returns: nil if the value deletes, or is a leaf: there is nothing to take from it.
    package func parts(without path: RealtimePath) -> [(path: RealtimePath, value: RealtimeWriteValue)]? {
        guard staged == nil, var open = node, open.leaf == nil else { return nil }
        var found: [(path: RealtimePath, node: RealtimeNode)] = []
        var here = RealtimePath.root
        for key in path.keys {
            guard open.leaf == nil else {
                found.append((here, open))
                break
            }
            for child in open.children where child.key != key { found.append((here.child(child.key), child.node)) }
            guard let next = open[key] else { break }
            (open, here) = (next, here.child(key))
        }
        var places: [RealtimePath: [Place]] = [:]
        for place in serverValues {
            let keys = place.target.path.keys
            let depth = min(keys.sharedCount(with: path.keys[...]) + 1, keys.count)
            places[RealtimePath(unchecked: Array(keys.prefix(depth))), default: []].append(place)
        }
        return found.map { part in
            let own = (places[part.path] ?? []).map { place in
                Place(target: place.target.relative(to: part.path) ?? place.target, value: place.value)
            }
            return (path: part.path, value: RealtimeWriteValue(part.node, serverValues: own))
        }
    }

    /// Whether the write removes what exists.
    package var isDeletion: Bool { node == nil && staged == nil }

    /// The value with its server values computed.
    ///
    /// - Parameters:
    ///   - now: the commit's milliseconds since 1970.
    ///   - existing: returns the leaf at a target before the write, or nil; targets count from the value's root. Only
    ///     increments ask for it.
    package func resolved<Failure: Error>(
        now: Int64, existing: (RealtimeTarget) throws(Failure) -> RealtimeLeaf?
    ) throws(Failure) -> RealtimeNode? {
        var node = node
        for place in serverValues {
            let leaf: RealtimeLeaf? =
                if case .increment = place.value { try existing(place.target) } else { nil }
            let resolved = place.value.resolved(now: now, existing: leaf)
            if place.target.isPriority {
                node.set(RealtimeNode(resolved), at: place.target)
            } else {
                let priority = node?[place.target.path]?.priority
                node.set(RealtimeNode(resolved, priority: priority), at: place.target.path)
            }
        }
        return node
    }

    /// The value with its server values computed.
    ///
    /// - Parameter existing: what existed before the write where the value is written.
    package func resolved(now: Int64, existing: RealtimeNode?) -> RealtimeNode? {
        resolved(now: now) { existing.node(at: $0)?.leaf }
    }
}

extension RealtimeWriteValue {
    /// JSON that is read as this value: it can be kept and written later.
    package var json: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.realtime(node, with: serverValues.isEmpty ? nil : PlaceTree(serverValues))
        return writer.bytes
    }
}

/// The places of server values, by their paths.
private struct PlaceTree {
    var value: RealtimeServerValue?
    var priority: RealtimeServerValue?
    var children: [RealtimeKey: PlaceTree] = [:]

    init() {}

    init(_ places: [RealtimeWriteValue.Place]) {
        for place in places { insert(place, at: place.target.path.keys[...]) }
    }

    private mutating func insert(_ place: RealtimeWriteValue.Place, at path: ArraySlice<RealtimeKey>) {
        if let key = path.first {
            children[key, default: PlaceTree()].insert(place, at: path.dropFirst())
        } else if place.target.isPriority {
            priority = place.value
        } else {
            value = place.value
        }
    }
}

extension JSONWriter {
    /// Appends a node with its priorities, and server values in their places. The depth is limited as that of a tree.
    fileprivate mutating func realtime(_ node: RealtimeNode?, with places: PlaceTree?) {
        guard let node, let places else { return realtime(node, as: .export) }
        let hasPriority = places.priority != nil || node.priority != nil
        if let leaf = node.leaf {
            if hasPriority { raw("{\".value\":") }
            if let value = places.value { realtime(value) } else { realtime(leaf) }
            guard hasPriority else { return }
        } else {
            raw("{")
            list(node.children) { writer, child in
                writer.key(child.key.string)
                writer.realtime(child.node, with: places.children[child.key])
            }
        }
        if hasPriority {
            raw(",\".priority\":")
            if let priority = places.priority {
                realtime(priority)
            } else if let priority = node.priority {
                realtime(priority.leaf)
            }
        }
        raw("}")
    }

    private mutating func realtime(_ value: RealtimeServerValue) {
        switch value {
        case .timestamp: raw("{\".sv\":\"timestamp\"}")
        case .increment(let number):
            raw("{\".sv\":{\"increment\":")
            realtime(.number(number))
            raw("}}")
        }
    }
}

extension RealtimeUpdate {
    /// JSON that is read as this update, if the paths start at the root.
    package var json: [UInt8] {
        var bytes = Array("{".utf8)
        for entry in entries {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            var key = JSONWriter(capacity: 32)
            key.key(entry.target.string)
            bytes += key.bytes + entry.value.json
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}
