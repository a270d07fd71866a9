/// A client that retries its conditional writes when they are stale, and takes turns with others that do.
package struct RetryingClient: Sendable {
    package enum ID: Hashable, Sendable {
        case connection(UInt64)
        case invocation(UInt64)
    }

    let id: ID
    /// Whether it has gone: no other client waits for its turn then.
    let hasLeft: @Sendable () -> Bool

    package init(_ id: ID, hasLeft: @escaping @Sendable () -> Bool = { false }) {
        self.id = id
        self.hasLeft = hasLeft
    }
}
