import CFunctionsSystem
package import RealtimeModel

/// Computes the hash that clients have of a node while its rows are read, without holding the node.
///
/// Rows come in the order of a walk: each object is opened, followed by its children by key, and closed. Only children
/// with a priority are kept until then, since a hash has them after the others, by priority.
package struct RealtimeHasher {
    private struct Object {
        var key: RealtimeKey?
        var priority: RealtimePriority?
        var digest: RealtimeDigest
        var isEmpty = true
        var prioritized: [(priority: RealtimePriority, key: RealtimeKey, hash: String)] = []
    }

    private let isExact: Bool
    private var open: [Object] = []
    private var root = ""
    /// Whether the exact hash is another one.
    package private(set) var hasLargeNumbers = false

    /// - Parameter isExact: whether integers that are one number for clients, with doubles, have hashes of their own.
    ///   No exact hash of a node with large numbers is a client's hash of another node.
    package init(isExact: Bool = false) { self.isExact = isExact }

    /// Adds a leaf.
    ///
    /// - Parameter key: the key in the innermost open object; nil if the whole node is this leaf.
    package mutating func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, key: RealtimeKey?) {
        functions_step()
        note(leaf)
        note(priority?.leaf)
        var digest = RealtimeDigest(isExact: isExact)
        digest.append(priority)
        digest.append(leaf)
        add(digest.finalize(), priority: priority, key: key)
    }

    /// Opens an object.
    ///
    /// - Parameter key: the key in the innermost open object; nil for the whole node.
    package mutating func openObject(priority: RealtimePriority?, key: RealtimeKey?) {
        note(priority?.leaf)
        var object = Object(key: key, priority: priority, digest: RealtimeDigest(isExact: isExact))
        object.digest.append(priority)
        open.append(object)
    }

    /// Closes the innermost open object. One without children counts as absent.
    ///
    /// - Precondition: an object is open.
    package mutating func closeObject() {
        var object = open.removeLast()
        guard !object.isEmpty else { return }
        // Those of equal priority stay in the order of their keys.
        let later = object.prioritized.sorted { ($0.priority, $0.key) < ($1.priority, $1.key) }
        for child in later { object.digest.append(child: child.key, hash: child.hash) }
        add(object.digest.finalize(), priority: object.priority, key: object.key)
    }

    /// The hash of all that was added; empty if that is nothing.
    ///
    /// - Precondition: each object is closed.
    package func finalize() -> String {
        precondition(open.isEmpty, "an object is not closed")
        return root
    }

    private mutating func note(_ leaf: RealtimeLeaf?) {
        if case .number(let number)? = leaf, number.isLarge { hasLargeNumbers = true }
    }

    private mutating func add(_ hash: String, priority: RealtimePriority?, key: RealtimeKey?) {
        guard let key, let last = open.indices.last else {
            root = hash
            return
        }
        open[last].isEmpty = false
        if let priority {
            open[last].prioritized.append((priority, key, hash))
        } else {
            open[last].digest.append(child: key, hash: hash)
        }
    }
}
