/// How a value is written as JSON.
package struct RealtimeForm: Hashable, Sendable {
    /// Whether objects whose keys are mostly 0, 1, 2 … are written as arrays.
    package var hasArrays: Bool
    /// Whether priorities are written: as `.priority` beside an object's children, and beside a leaf's `.value`.
    package var hasPriorities: Bool

    package init(hasArrays: Bool, hasPriorities: Bool) {
        self.hasArrays = hasArrays
        self.hasPriorities = hasPriorities
    }

    /// Arrays, and no priorities: REST, and what functions and rules see.
    package static let plain = RealtimeForm(hasArrays: true, hasPriorities: false)
    /// Objects only, with priorities: `format=export`, and WebSocket, whose clients keep priorities.
    package static let export = RealtimeForm(hasArrays: false, hasPriorities: true)
    /// Arrays and priorities: what was written, in the answer of REST.
    package static let written = RealtimeForm(hasArrays: true, hasPriorities: true)
}
