/// A new state at a target: of a value, or of a priority.
package struct RealtimeChange: Equatable, Sendable {
    package var target: RealtimeTarget
    /// Nil removes what exists, unless a staged value replaces it. For a priority it is a leaf.
    package var node: RealtimeNode?
    /// A large value, which isn't in memory.
    package var staged: StagedValue?

    package init(_ target: RealtimeTarget, _ node: RealtimeNode?, staged: StagedValue? = nil) {
        self.target = target
        self.node = node
        self.staged = staged
    }
}
