import DocumentModel
package import RealtimeHashing
package import RealtimeModel
import StorageEngine

extension RealtimeSnapshot {
    /// Sends the rows of a node, or of its children that match a query.
    ///
    /// - Throws: `tooLarge` if they have more bytes than one request may read.
    package func send(
        at path: RealtimePath, matching query: RealtimeQuery? = nil, to receiver: inout some RealtimeRowReceiver
    ) throws {
        var bytes = ReadBytes(limits)
        try send(at: path, matching: query, counting: &bytes, to: &receiver)
    }

    private func send(
        at path: RealtimePath, matching query: RealtimeQuery?, counting bytes: inout ReadBytes,
        to receiver: inout some RealtimeRowReceiver
    ) throws {
        var children: [RealtimeKey]?
        if let query, !query.loadsAll { children = try matches(of: query, at: path, counting: &bytes).keys }
        try eachRow(at: TreeKey.of(path), of: children, counting: &bytes) { Self.send($1, at: $0, to: &receiver) }
    }

    /// A node, or its children that match a query.
    ///
    /// - Throws: `tooLarge` if it has more bytes than one request may read.
    package func node(at path: RealtimePath, matching query: RealtimeQuery? = nil) throws -> RealtimeNode? {
        var builder = RealtimeNodeBuilder()
        try send(at: path, matching: query, to: &builder)
        return builder.finalize()
    }

    /// A node as a part of a read.
    func node(at path: RealtimePath, counting bytes: inout ReadBytes) throws -> RealtimeNode? {
        var builder = RealtimeNodeBuilder()
        try send(at: path, matching: nil, counting: &bytes, to: &builder)
        return builder.finalize()
    }

    /// A node of the given children only, in the order of their keys here, and without its priority. Nil if none exists.
    func node(at path: RealtimePath, of children: [RealtimeKey], counting bytes: inout ReadBytes) throws
        -> RealtimeNode?
    {
        var builder = RealtimeNodeBuilder()
        try eachRow(at: TreeKey.of(path), of: children, counting: &bytes) { Self.send($1, at: $0, to: &builder) }
        return builder.finalize()
    }

    /// A node, nil in it for nothing; nil if it has more rows or bytes.
    func node(at path: RealtimePath, maxRows: Int, maxBytes: Int) throws -> RealtimeNode?? {
        struct TooLarge: Error {}
        var builder = RealtimeNodeBuilder()
        var bytes = ReadBytes(RealtimeReadLimits(maxBytes: maxBytes))
        var rows = 0
        do {
            try eachRow(at: TreeKey.of(path), counting: &bytes) { place, node in
                rows += 1
                guard rows <= maxRows else { throw TooLarge() }
                Self.send(node, at: place, to: &builder)
            }
        } catch is TooLarge {
            return nil
        } catch let failure as RealtimeFailure where failure.isBeyondLimits {
            return nil
        }
        return .some(builder.finalize())
    }

    /// The hash with which clients ask whether they have the current data; empty for nothing.
    ///
    /// - Parameter isExact: whether it is the hash for callers that have read exact integers.
    package func hash(
        at path: RealtimePath, matching query: RealtimeQuery? = nil, isExact: Bool = false
    ) throws -> String {
        var hasher = RealtimeRowHasher(isExact: isExact)
        try send(at: path, matching: query, to: &hasher)
        return hasher.finalize()
    }

    /// The hash of what a write addresses.
    package func hash(at target: RealtimeTarget, isExact: Bool = false) throws -> String {
        guard target.isPriority else { return try hash(at: target.path, isExact: isExact) }
        let node = try leaf(at: target).map { RealtimeNode($0) }
        return isExact ? node.exactHash : node.hash
    }

    /// Whether a hash, exact or a client's, is that of what a write addresses.
    func has(_ hash: String, at target: RealtimeTarget) throws -> Bool {
        guard !target.isPriority else { return try leaf(at: target).map { RealtimeNode($0) }.has(hash) }
        var hasher = RealtimeRowHasher()
        try send(at: target.path, matching: nil, to: &hasher)
        if hasher.finalize() == hash { return true }
        guard hasher.hasLargeNumbers else { return false }
        return try self.hash(at: target.path, isExact: true) == hash
    }

    /// What the ranges that are sent to a client may take: their nodes are held in memory until all are compared.
    private static let maxRangeBytes = 2 * 1024 * 1024

    /// The ranges in which a node differs from a client's compound hash; nil if the client needs all data, or if they are
    /// large.
    package func ranges(
        at path: RealtimePath, matching query: RealtimeQuery? = nil, differingFrom hash: RealtimeCompoundHash
    ) throws -> [RealtimeRange]? {
        var comparison = RealtimeRangeComparison(with: hash, maxBytes: Self.maxRangeBytes)
        try send(at: path, matching: query, to: &comparison)
        return comparison.finalize()
    }

    /// Visits the rows at and below a node, or those of some of its children, without entries of indexes.
    ///
    /// - Parameters:
    ///   - children: the children's keys in order; nil for the whole node.
    ///   - body: receives the row's path from the node.
    func eachRow(
        at path: [UInt8], of children: [RealtimeKey]? = nil, counting bytes: inout ReadBytes,
        _ body: (_ path: RealtimePath, _ node: StoredNode) throws -> Void
    ) throws {
        var reader = TreePathReader()
        func visit(_ range: KeyRange) throws {
            var rest: KeyRange? = range
            while let range = rest {
                rest = nil
                try rows.scan(range) { rowPath, row in
                    switch try reader.read(rowPath.dropFirst(path.count)) {
                    case .entry(let parent):
                        rest = KeyRange(lower: path + parent + [TreeKey.integerMarker], upper: range.upper)
                        return false
                    case .node(let relative):
                        try bytes.add(rowPath.count + row.count)
                        try body(relative, try StoredNode(row, at: rowPath))
                        return true
                    }
                }
            }
        }
        guard let children else { return try visit(TreeKey.subtree(path)) }
        for key in children { try visit(TreeKey.subtree(Self.child(key, of: path))) }
    }

    private static func send(
        _ node: StoredNode, at path: RealtimePath, to receiver: inout some RealtimeRowReceiver
    ) {
        if let leaf = node.leaf {
            receiver.leaf(leaf, priority: node.priority, at: path)
        } else if let priority = node.priority {
            receiver.priority(priority, at: path)
        }
    }
}

extension RealtimeFailure {
    static func tooLarge(_ limit: Int) -> RealtimeFailure {
        RealtimeFailure(
            .tooLarge, "more than \(limit) bytes would be read, the limit of one request; read less, or page by key")
    }
}
