package import RealtimeModel
import StrictJSON

extension RealtimeSnapshot {
    /// Writes a node, or its children that match a query, as JSON. No more than a piece is held.
    ///
    /// - Parameters:
    ///   - body: called with each piece, the last one included.
    /// - Throws: `tooLarge` if the text has more bytes than one request may read, or what the body throws.
    package func writeJSON(
        at path: RealtimePath, matching query: RealtimeQuery? = nil, as form: RealtimeForm, pieceBytes: Int = 65_536,
        _ body: ([UInt8]) throws -> Void
    ) throws {
        var text = TreeJSONWriter(form)
        var total = 0
        func pass(atLeast bytes: Int) throws {
            guard text.writer.bytes.count >= bytes else { return }
            total += text.writer.bytes.count
            guard total <= limits.maxBytes else { throw RealtimeFailure.tooLarge(limits.maxBytes) }
            try body(text.writer.bytes)
            text.writer = JSONWriter(capacity: pieceBytes)
        }
        let parent = TreeKey.of(path)
        var bytes = ReadBytes(limits)
        /// - Parameter matches: the keys of the node's children; nil for all.
        func write(_ prefix: [RealtimeKey], of matches: RealtimeChildren?) throws {
            try eachRow(at: parent + TreeKey.of(RealtimePath(unchecked: prefix)), counting: &bytes) { relative, node in
                let place = prefix.isEmpty ? relative : RealtimePath(unchecked: prefix + relative.keys)
                guard let leaf = node.leaf else { return node.priority.map { text.priority($0, at: place) } ?? () }
                try text.leaf(leaf, priority: node.priority, at: place) { object in
                    if object.isRoot, let matches { return matches.isArray }
                    return try isArray(at: parent + TreeKey.of(object))
                }
                try pass(atLeast: pieceBytes)
            }
        }
        if let query, !query.loadsAll {
            let keys = try matches(of: query, at: path, counting: &bytes).keys
            let children = RealtimeChildren(sorted: keys.map { ($0, RealtimeNode(true)) })
            for key in keys { try write([key], of: children) }
        } else {
            try write([], of: nil)
        }
        text.finish()
        try pass(atLeast: 0)
    }

    /// Writes a leaf as it is, or an object with `true` for each child. What is below the children isn't read.
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
        if let query, !query.loadsAll {
            for key in try matches(of: query, at: path).keys { try add(key) }
        } else {
            let parent = TreeKey.of(path)
            if let leaf = try stored(at: parent)?.leaf {
                writer.realtime(leaf)
                return try body(writer.bytes)
            }
            try eachChild(of: parent, in: TreeKey.children(of: parent)) { child in
                try add(child.key)
                return true
            }
        }
        if isFirst { writer.null() } else { writer.raw("}") }
        try body(writer.bytes)
    }
}
