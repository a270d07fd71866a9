import CommitPipeline
import DocumentModel
import RealtimeModel
import StorageEngine

/// Checks the nodes of a namespace and the entries of their indexes.
final class NamespaceCheck {
    private let name: String
    private let rows: TreeRows
    private let indexes: [RealtimeIndex]
    private let whole: TreeCheck
    private let state: RealtimeSnapshot
    /// The last leaf, below which nothing may be.
    private var leaf: [UInt8]?
    /// An object's priority, below which something must follow.
    private var object: [UInt8]?
    private var path = RealtimePath.root

    init(_ name: String, _ rows: TreeRows, _ indexes: [RealtimeIndex], _ whole: TreeCheck) {
        self.name = name
        self.rows = rows
        self.indexes = indexes
        self.whole = whole
        state = RealtimeSnapshot(rows, indexes: [], limits: RealtimeReadLimits(), version: 0)
    }

    func check() throws {
        var reader = TreePathReader()
        try rows.scan(.all) { bytes, row in
            try whole.count()
            do {
                switch try reader.read(bytes) {
                case .node(let path): try checkNode(path, bytes, row)
                case .entry(let parent): try checkEntry(bytes, of: Array(parent))
                }
            } catch let error as DecodingFailure {
                try note("a row can't be read: \(error.reason)")
                (leaf, object) = (nil, nil)
            }
            return true
        }
        if object != nil { try note("the last object has a priority and no children") }
    }

    private func note(_ problem: String) throws { try whole.run.note("the database \"\(name)\": \(problem)") }

    private func checkNode(_ path: RealtimePath, _ bytes: ArraySlice<UInt8>, _ row: [UInt8]) throws {
        let node = try StoredNode(row, at: bytes)
        if TreeKey.of(path)[...] != bytes { try note("the path of \(path) is stored in another way than usual") }
        if let leaf, bytes.starts(with: leaf) { try note("something is below a leaf, at \(path)") }
        if let object, !bytes.starts(with: object) {
            try note("an object before \(path) has a priority and no children")
        }
        leaf = node.leaf == nil ? nil : Array(bytes)
        object = node.leaf == nil ? Array(bytes) : nil
        if let priority = node.priority, let key = path.keys.last {
            let prefix = IndexEntryKey.prefix(
                of: TreeKey.of(path.prefix(path.depth - 1)), index: IndexEntryKey.priorities)
            let entry = RealtimeIndexEntry(value: .leaf(priority.leaf), key: key)
            if try rows.get(IndexEntryKey.of(entry, in: prefix)) == nil {
                try note("\(path) isn't found by its priority")
            }
        }
        try checkIndexes(path)
        self.path = path
    }

    /// Checks that the children that a path begins in have their entries in the indexes that are ready.
    private func checkIndexes(_ path: RealtimePath) throws {
        for index in indexes where index.state == .ready {
            let depth = index.definition.parents.count
            guard path.depth > depth, index.definition.matches(path.keys),
                // The first row at or below a child.
                self.path.depth <= depth || !self.path.keys.prefix(depth + 1).elementsEqual(path.keys.prefix(depth + 1))
            else { continue }
            let parent = TreeKey.of(path.prefix(depth))
            guard let entry = try state.entry(of: path.keys[depth], at: parent, by: index.definition.index) else {
                continue
            }
            let prefix = IndexEntryKey.prefix(of: parent, index: index.number)
            if try rows.get(IndexEntryKey.of(entry, in: prefix)) == nil {
                try note("\(path.prefix(depth + 1)) has no entry in the index on \(index.definition.index.name)")
            }
        }
    }

    private func checkEntry(_ bytes: ArraySlice<UInt8>, of parent: [UInt8]) throws {
        let count = IndexEntryKey.prefix(of: parent, index: 0).count
        guard bytes.count > count else { throw DecodingFailure("an entry of an index is too short") }
        let number = bytes.dropFirst(parent.count + 1).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let key = try IndexEntryKey.read(bytes.dropFirst(count)).key
        let order: RealtimeQuery.Index
        if number == IndexEntryKey.priorities {
            order = .priority
        } else {
            guard let index = indexes.first(where: { $0.number == number }) else {
                return try note("an entry belongs to no index")
            }
            order = index.definition.index
        }
        guard let entry = try state.entry(of: key, at: parent, by: order) else {
            return try note("an entry of an index leads to a child that doesn't exist")
        }
        let expected = IndexEntryKey.of(entry, in: Array(bytes.prefix(count)))
        if expected[...] != bytes || order == .priority && entry.value == .null {
            try note("an entry of an index differs from its child")
        }
    }
}
