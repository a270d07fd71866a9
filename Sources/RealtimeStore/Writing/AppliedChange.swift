package import RealtimeModel
import StorageEngine

/// A change of a commit that has changed something.
package struct RealtimeAppliedChange: Sendable {
    /// What was set, and to what.
    package var change: RealtimeChange
    /// Which rows differ.
    var extent: Extent
    /// The depth of the highest node above that was a leaf and is an object now, or that was removed with its priority, if
    /// there is one. What the node was before is lost then, also if the commit changes it once more.
    var top: Int?

    var topPath: RealtimePath? { top.map { change.target.path.prefix($0) } }

    /// Whether it may stand for several writes of the commit.
    var isMerged: Bool {
        switch extent {
        case .any, .parts: true
        case .created, .rows: false
        }
    }

    enum Extent: Sendable {
        /// Nothing existed before.
        case created
        /// The paths of the rows that differ, in bytes and in order, from the root.
        case rows([[UInt8]])
        /// Any at or below the target's path: the old ones weren't looked at.
        case any
        /// Those of several changes that it stands for.
        indirect case parts(Parts)
    }

    /// Changes by where they are: those of one commit may be very many.
    struct Parts: Sendable {
        private var all: [RealtimePath: [RealtimeAppliedChange]] = [:]
        /// What has changes below it.
        private var above: Set<RealtimePath> = []

        init(_ parts: [RealtimeAppliedChange]) {
            for part in parts {
                let path = part.change.target.path
                all[path, default: []].append(part)
                for depth in 0..<path.depth { above.insert(path.prefix(depth)) }
            }
        }

        func concern(_ path: RealtimePath, having node: RealtimeNode?) -> Bool {
            above.contains(path)
                || (0...path.depth).contains { depth in
                    all[path.prefix(depth)]?.contains { $0.concerns(path, having: node) } ?? false
                }
        }
    }

    /// Whether something has changed at or below a path that the target contains.
    ///
    /// - Parameter node: what the path has after the change.
    func concerns(_ path: RealtimePath, having node: RealtimeNode?) -> Bool {
        switch extent {
        case .created: return node != nil
        case .any: return true
        case .parts(let parts): return parts.concern(path, having: node)
        case .rows(let rows):
            let range = TreeKey.subtree(TreeKey.of(path))
            var (low, high) = (0, rows.count)
            while low < high {
                let middle = (low + high) / 2
                if rows[middle].lexicographicallyPrecedes(range.lower) { low = middle + 1 } else { high = middle }
            }
            return low < rows.count && range.contains(rows[low])
        }
    }
}
