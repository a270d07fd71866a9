package import RealtimeModel
import DocumentModel

/// What an `.indexOn` in the rules asks for: the children of some nodes, ordered by one value each.
package struct RealtimeIndexDefinition: Hashable, Sendable {
    /// A key of the nodes' path, or any.
    package enum Step: Hashable, Sendable {
        case key(RealtimeKey)
        case any
    }

    /// The path of the nodes whose children are ordered.
    package var parents: [Step]
    /// The value or a child path: keys and priorities need no index.
    package var index: RealtimeQuery.Index

    package init(parents: [Step], index: RealtimeQuery.Index) {
        self.parents = parents
        self.index = index
    }

    /// Whether the index orders the children of a node, whose path has these keys.
    func covers(_ keys: some RandomAccessCollection<RealtimeKey>) -> Bool {
        keys.count == parents.count && matches(keys)
    }

    /// Whether a path begins as those of the nodes whose children are ordered.
    func matches(_ keys: some RandomAccessCollection<RealtimeKey>) -> Bool {
        keys.count >= parents.count && agrees(with: keys)
    }

    /// Whether the index may order the children of a node, or of nodes below it.
    func mayCover(below path: RealtimePath) -> Bool { path.depth <= parents.count && agrees(with: path.keys) }

    private func agrees(with keys: some RandomAccessCollection<RealtimeKey>) -> Bool {
        for (step, key) in zip(parents, keys) {
            if case .key(let wanted) = step, wanted != key { return false }
        }
        return true
    }
}

/// An index as a namespace has it.
struct RealtimeIndex: Hashable, Sendable {
    enum State: UInt8, Hashable, Sendable {
        /// Commits maintain it, and older children are being added.
        case building = 1
        case ready
        /// Its entries are being removed, and commits add none.
        case dropping
    }

    /// Distinguishes its entries from those of others. Never used again.
    var number: UInt32
    var definition: RealtimeIndexDefinition
    var state: State
}

extension RealtimeIndex {
    init(from reader: inout ByteReader) throws(DecodingFailure) {
        guard let number = UInt32(exactly: try reader.varint()), let state = State(rawValue: try reader.byte()) else {
            throw DecodingFailure("an index of the tree can't be read")
        }
        let parents = try reader.list { reader throws(DecodingFailure) in
            let key = try reader.optional { reader throws(DecodingFailure) in try reader.string() }
            return key.map { RealtimeIndexDefinition.Step.key(RealtimeKey(unchecked: $0)) } ?? .any
        }
        let child = try reader.list { reader throws(DecodingFailure) in RealtimeKey(unchecked: try reader.string()) }
        guard child.count <= RealtimeLimits.maxDepth else { throw DecodingFailure("an index of the tree is too deep") }
        self.number = number
        self.state = state
        definition = RealtimeIndexDefinition(
            parents: parents, index: child.isEmpty ? .value : .child(RealtimePath(unchecked: child)))
    }

    func write(to writer: inout ByteWriter) {
        writer.write(varint: UInt64(number))
        writer.write(byte: state.rawValue)
        writer.write(definition.parents) { writer, step in
            var key: RealtimeKey?
            if case .key(let wanted) = step { key = wanted }
            writer.write(optional: key) { $0.write($1.string) }
        }
        var child = RealtimePath.root
        if case .child(let path) = definition.index { child = path }
        writer.write(child.keys) { $0.write($1.string) }
    }
}
