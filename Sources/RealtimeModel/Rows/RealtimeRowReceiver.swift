/// Receives a node as rows, in the order of a walk: by key, each object's children after its priority.
///
/// A store can so hash, compare or build what it reads without holding it twice. Paths start at the node.
package protocol RealtimeRowReceiver {
    /// An object's priority, before the first leaf below the object.
    mutating func priority(_ priority: RealtimePriority, at path: RealtimePath)

    /// A leaf.
    mutating func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at path: RealtimePath)
}

extension RealtimeNode {
    /// Sends the node's rows.
    package func send(to receiver: inout some RealtimeRowReceiver) { send(to: &receiver, at: .root) }

    private func send(to receiver: inout some RealtimeRowReceiver, at path: RealtimePath) {
        if let leaf { return receiver.leaf(leaf, priority: priority, at: path) }
        if let priority { receiver.priority(priority, at: path) }
        for child in children { child.node.send(to: &receiver, at: path.child(child.key)) }
    }
}
