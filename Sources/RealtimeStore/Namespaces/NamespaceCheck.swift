import CommitPipeline
import DocumentModel
import RealtimeModel
import StorageEngine

/// Checks the nodes of a namespace and the entries of their indexes.
final class NamespaceCheck {
    private let name: String
    private let rows: TreeRows
    private let audit: EntryAudit
    private let whole: TreeCheck
    /// The last leaf, below which nothing may be.
    private var leaf: [UInt8]?
    /// An object's priority, below which something must follow.
    private var object: [UInt8]?
    private var path = RealtimePath.root

    init(_ name: String, _ rows: TreeRows, _ indexes: [RealtimeIndex], _ whole: TreeCheck) {
        self.name = name
        self.rows = rows
        audit = EntryAudit(rows, indexes)
        self.whole = whole
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

    private func noteRepairable(_ problem: String) throws {
        whole.result.isRepairable = true
        try note(problem)
    }

    private func checkNode(_ path: RealtimePath, _ bytes: ArraySlice<UInt8>, _ row: [UInt8]) throws {
        let node = try StoredNode(row, at: bytes)
        if TreeKey.of(path)[...] != bytes { try note("the path of \(path) is stored in another way than usual") }
        if let leaf, bytes.starts(with: leaf) { try note("something is below a leaf, at \(path)") }
        if let object, !bytes.starts(with: object) {
            try note("an object before \(path) has a priority and no children")
        }
        leaf = node.leaf == nil ? nil : Array(bytes)
        object = node.leaf == nil ? Array(bytes) : nil
        for missing in try audit.missing(of: path, node.priority, after: self.path) {
            try noteRepairable(missing.problem)
        }
        self.path = path
    }

    private func checkEntry(_ bytes: ArraySlice<UInt8>, of parent: [UInt8]) throws {
        if let problem = try audit.problem(of: bytes, at: parent) { try noteRepairable(problem) }
    }
}
