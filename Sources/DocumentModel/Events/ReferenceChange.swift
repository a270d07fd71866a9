/// A change of a node of the Realtime Database, as functions receive it.
///
/// Values are JSON with priorities: an object's as `.priority` beside its children, a leaf's beside its `.value`.
package struct ReferenceChange: Hashable, Sendable {
    /// What was set at or below the node.
    package struct Setting: Hashable, Sendable {
        /// From the node: keys joined by slashes, and `.priority` at the end for a priority.
        package var target: String
        /// Nil if it was removed.
        package var value: [UInt8]?

        package init(_ target: String, _ value: [UInt8]?) {
            self.target = target
            self.value = value
        }
    }

    /// The database's name.
    package var instance: String
    /// The node's keys joined by slashes; empty for the root.
    package var path: String
    /// Nil if nothing existed.
    package var before: [UInt8]?
    /// In their order. They lead from what was before to what is after.
    package var settings: [Setting]
    /// Whether anything exists afterwards.
    package var existsAfter: Bool

    package init(instance: String, path: String, before: [UInt8]?, settings: [Setting], existsAfter: Bool) {
        self.instance = instance
        self.path = path
        self.before = before
        self.settings = settings
        self.existsAfter = existsAfter
    }

    package var bytes: Int {
        (before?.count ?? 0) + settings.reduce(path.utf8.count) { $0 + $1.target.utf8.count + ($1.value?.count ?? 0) }
    }
}
