import RealtimeModel

/// The listeners of a namespace by path. Used by the listeners' thread.
final class ListenerTree {
    /// The listeners at one path.
    final class Place {
        let path: RealtimePath
        fileprivate(set) var children: [RealtimeKey: Place] = [:]
        /// Those without a query.
        var listeners: [UInt64: ListenerCore] = [:]
        /// Those with a query; the listeners of one query share a group once they have begun.
        private(set) var groups: [ObjectIdentifier: QueryGroup] = [:]
        /// The groups that others' listeners may join.
        private var begun: [RealtimeQuery: QueryGroup] = [:]

        init(_ path: RealtimePath) { self.path = path }

        var hasListeners: Bool { !listeners.isEmpty || !groups.isEmpty }

        func add(_ group: QueryGroup) { groups[ObjectIdentifier(group)] = group }

        func remove(_ group: QueryGroup) {
            groups[ObjectIdentifier(group)] = nil
            if begun[group.query] === group { begun[group.query] = nil }
        }

        /// The group whose window has the matches of a query, and isn't being read again; nil if there is none.
        func current(_ query: RealtimeQuery) -> QueryGroup? { begun[query].flatMap { $0.isReading ? nil : $0 } }

        /// Lets others' listeners join a group, unless they join another one.
        func share(_ group: QueryGroup) { if current(group.query) == nil { begun[group.query] = group } }
    }

    private let root = Place(.root)

    var isEmpty: Bool { root.children.isEmpty && !root.hasListeners }

    /// The place of a path, which is created if it doesn't exist.
    func makePlace(_ path: RealtimePath) -> Place {
        var place = root
        for (depth, key) in path.keys.enumerated() {
            if let next = place.children[key] {
                place = next
            } else {
                let next = Place(path.prefix(depth + 1))
                place.children[key] = next
                place = next
            }
        }
        return place
    }

    func place(_ path: RealtimePath) -> Place? {
        var place: Place? = root
        for key in path.keys { place = place?.children[key] }
        return place
    }

    /// Removes the places on a path that have no listeners, nor others below them.
    func tidy(_ path: RealtimePath) {
        var places = [root]
        for key in path.keys {
            guard let next = places.last?.children[key] else { break }
            places.append(next)
        }
        while places.count > 1, let last = places.popLast(), last.children.isEmpty, !last.hasListeners {
            if let key = last.path.keys.last { places.last?.children[key] = nil }
        }
    }

    /// The places that a commit concerns, each with its changes as they are seen from there.
    func places(of commit: RealtimeCommitFeed) -> [(place: Place, changes: [RealtimeChange])] {
        var places: [(place: Place, changes: [RealtimeChange])] = []
        var indices: [ObjectIdentifier: Int] = [:]
        for applied in commit.changes {
            visit(applied) { place, change in
                if let index = indices[ObjectIdentifier(place)] {
                    places[index].changes.append(change)
                } else {
                    indices[ObjectIdentifier(place)] = places.count
                    places.append((place, [change]))
                }
            }
        }
        return places
    }

    /// Visits the places that a change concerns, each with the change as it is seen from there.
    func visit(_ applied: RealtimeAppliedChange, _ body: (Place, RealtimeChange) -> Void) {
        let target = applied.change.target
        var place = root
        for key in target.path.keys {
            visit(place, applied.change, body)
            guard let next = place.children[key] else { return }
            place = next
        }
        visit(place, applied.change, body)
        if !target.isPriority { visitBelow(place, applied.change.node, applied, body) }
    }

    private func visit(_ place: Place, _ change: RealtimeChange, _ body: (Place, RealtimeChange) -> Void) {
        guard place.hasListeners, let relative = change.target.relative(to: place.path) else { return }
        body(place, RealtimeChange(relative, change.node, staged: change.staged))
    }

    private func visitBelow(
        _ place: Place, _ node: RealtimeNode?, _ applied: RealtimeAppliedChange, _ body: (Place, RealtimeChange) -> Void
    ) {
        for (key, child) in place.children {
            let below = node?[key]
            if child.hasListeners, applied.concerns(child.path, having: below) {
                body(child, RealtimeChange(RealtimeTarget(.root), below, staged: applied.change.staged))
            }
            visitBelow(child, below, applied, body)
        }
    }
}
