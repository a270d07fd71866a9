/// What exists at a path: a leaf, or an object with at least one child. Either may have a priority. Absence is nil.
///
/// Copies share their storage until one of them changes; a change copies what lies on its path only.
package struct RealtimeNode: Sendable {
    enum Storage {
        case leaf(RealtimeLeaf)
        case prioritizedLeaf(PrioritizedLeaf)
        case object(Object)
    }

    final class PrioritizedLeaf: Sendable {
        let leaf: RealtimeLeaf
        let priority: RealtimePriority

        init(_ leaf: RealtimeLeaf, _ priority: RealtimePriority) {
            self.leaf = leaf
            self.priority = priority
        }
    }

    /// Its properties change only through a reference that is known to be the only one: other threads can't see it then.
    final class Object: @unchecked Sendable {
        var children: RealtimeChildren
        var priority: RealtimePriority?

        init(_ children: RealtimeChildren, _ priority: RealtimePriority?) {
            self.children = children
            self.priority = priority
        }
    }

    private(set) var storage: Storage

    package init(_ leaf: RealtimeLeaf, priority: RealtimePriority? = nil) {
        storage = priority.map { .prioritizedLeaf(PrioritizedLeaf(leaf, $0)) } ?? .leaf(leaf)
    }

    /// - Returns: nil if there are no children: an empty object doesn't exist.
    package init?(_ children: RealtimeChildren, priority: RealtimePriority? = nil) {
        guard !children.isEmpty else { return nil }
        storage = .object(Object(children, priority))
    }

    init(_ object: Object) { storage = .object(object) }

    /// Stands for a node that is taken out of its place for a moment.
    static let placeholder = RealtimeNode(.boolean(false))

    /// The value of a leaf; nil for an object.
    package var leaf: RealtimeLeaf? {
        switch storage {
        case .leaf(let leaf): leaf
        case .prioritizedLeaf(let leaf): leaf.leaf
        case .object: nil
        }
    }

    /// The children of an object; empty for a leaf.
    package var children: RealtimeChildren {
        guard case .object(let object) = storage else { return RealtimeChildren() }
        return object.children
    }

    package var priority: RealtimePriority? {
        get {
            switch storage {
            case .leaf: nil
            case .prioritizedLeaf(let leaf): leaf.priority
            case .object(let object): object.priority
            }
        }
        set {
            switch storage {
            case .leaf(let leaf): self = RealtimeNode(leaf, priority: newValue)
            case .prioritizedLeaf(let leaf): self = RealtimeNode(leaf.leaf, priority: newValue)
            case .object(let object):
                guard object.priority != newValue else { return }
                self = RealtimeNode(Object(object.children, newValue))
            }
        }
    }

    package subscript(key: RealtimeKey) -> RealtimeNode? {
        guard case .object(let object) = storage else { return nil }
        return object.children[key]
    }

    /// The node at a path from here.
    package subscript(path: RealtimePath) -> RealtimeNode? {
        var node: RealtimeNode? = self
        for key in path.keys { node = node?[key] }
        return node
    }

    /// Whether both are one node in memory, which makes them equal. Two equal ones may be stored apart.
    func isIdentical(to other: RealtimeNode) -> Bool {
        switch (storage, other.storage) {
        case (.object(let a), .object(let b)): a === b
        case (.prioritizedLeaf(let a), .prioritizedLeaf(let b)): a === b
        default: false
        }
    }
}

extension RealtimeNode: Equatable {
    package static func == (a: RealtimeNode, b: RealtimeNode) -> Bool {
        if a.isIdentical(to: b) { return true }
        switch (a.storage, b.storage) {
        case (.object(let a), .object(let b)): return a.priority == b.priority && a.children == b.children
        case (.object, _), (_, .object): return false
        default: return a.leaf == b.leaf && a.priority == b.priority
        }
    }
}
