package import RealtimeModel
import StrictJSON

extension RealtimeSnapshot {
    /// Writes a node, or its children that match a query, as JSON. No more than a piece is held.
    ///
    /// - Parameters:
    ///   - body: called with each piece, the last one included.
    /// - Returns: how many nodes with a row there were.
    /// - Throws: `tooLarge` if the text has more bytes than one request may read, or what the body throws.
    @discardableResult
    package func writeJSON(
        at path: RealtimePath, matching query: RealtimeQuery? = nil, as form: RealtimeForm, pieceBytes: Int = 65_536,
        _ body: ([UInt8]) throws -> Void
    ) throws -> Int {
        var text = TreeJSONWriter(form)
        var total = 0
        var rowCount = 0
        func pass(atLeast bytes: Int) throws {
            guard text.writer.bytes.count >= bytes else { return }
            total += text.writer.bytes.count
            guard total <= limits.maxBytes else { throw RealtimeFailure.tooLarge(limits.maxBytes) }
            try body(text.writer.bytes)
            text.writer = JSONWriter(capacity: pieceBytes)
        }
        let parent = TreeKey.of(path)
        var bytes = ReadBytes(limits)
        var children: [RealtimeKey]?
        if let query, !query.loadsAll { children = try matches(of: query, at: path, counting: &bytes).keys }
        try eachRow(at: parent, of: children, counting: &bytes) { place, node in
            rowCount += 1
            guard let leaf = node.leaf else { return node.priority.map { text.priority($0, at: place) } ?? () }
            try text.leaf(leaf, priority: node.priority, at: place) { object in
                if object.isRoot, let children {
                    return RealtimeChildren(sorted: children.map { ($0, RealtimeNode(true)) }).isArray
                }
                return try isArray(at: parent + TreeKey.of(object))
            }
            try pass(atLeast: pieceBytes)
        }
        text.finish()
        try pass(atLeast: 0)
        return rowCount
    }

    /// Writes a leaf as it is, or an object with `true` for each child. What is below the children isn't read.
    ///
    /// A range leaves out everything of a leaf, as it does in other reads. A limit alone doesn't: the official export asks so.
    package func writeShallowJSON(
        at path: RealtimePath, matching query: RealtimeQuery? = nil, pieceBytes: Int = 65_536,
        _ body: ([UInt8]) throws -> Void
    ) throws {
        var writer = JSONWriter(capacity: 1024)
        var isFirst = true
        func add(_ key: RealtimeKey) throws {
            writer.raw(isFirst ? "{" : ",")
            isFirst = false
            writer.key(key.string)
            writer.boolean(true)
            guard writer.bytes.count >= pieceBytes else { return }
            try body(writer.bytes)
            writer = JSONWriter(capacity: pieceBytes)
        }
        let parent = TreeKey.of(path)
        if let leaf = try stored(at: parent)?.leaf {
            if query?.hasRange == true { writer.null() } else { writer.realtime(leaf) }
            return try body(writer.bytes)
        }
        if let query, !query.loadsAll {
            for key in try matches(of: query, at: path).keys { try add(key) }
        } else {
            try eachChild(of: parent, in: TreeKey.children(of: parent)) { child in
                try add(child.key)
                return true
            }
        }
        if isFirst { writer.null() } else { writer.raw("}") }
        try body(writer.bytes)
    }
}
