/// The members of an object while it is read.
struct RealtimeMembers {
    /// What isn't an object nor an array.
    enum Scalar {
        case none
        case leaf(RealtimeLeaf)
        case server(RealtimeServerValue)
    }

    var value: Scalar?
    var priority: Scalar?
    var serverValue: RealtimeServerValue?
    private(set) var children: [RealtimeChildren.Child] = []
    /// The keys of nulls, which would be missed among the children when a repeated key is looked for.
    private var absent: [RealtimeKey] = []
    private var isSorted = true

    /// Whether there are no keys without a dot.
    var isEmpty: Bool { children.isEmpty && absent.isEmpty }

    mutating func append(_ key: RealtimeKey, _ node: RealtimeNode?) {
        guard let node else { return absent.append(key) }
        // Most clients send keys in their order.
        if isSorted, let last = children.last, RealtimeKey.compare(last.key, key) >= 0 { isSorted = false }
        children.append((key, node))
    }

    /// Sorts the children by key.
    ///
    /// - Returns: A key that is repeated, if there is one.
    mutating func sort() -> RealtimeKey? {
        if !isSorted {
            children.sort { $0.key < $1.key }
            for index in children.indices.dropFirst() where children[index].key == children[index - 1].key {
                return children[index].key
            }
        }
        guard !absent.isEmpty else { return nil }
        absent.sort()
        for index in absent.indices.dropFirst() where absent[index] == absent[index - 1] { return absent[index] }
        let present = RealtimeChildren(sorted: children)
        return absent.first { present[$0] != nil }
    }
}
