/// A new state at a target: of a value, or of a priority.
package struct RealtimeChange: Equatable, Sendable {
    package var target: RealtimeTarget
    /// Nil removes what exists. For a priority it is a leaf.
    package var node: RealtimeNode?

    package init(_ target: RealtimeTarget, _ node: RealtimeNode?) {
        self.target = target
        self.node = node
    }
}
