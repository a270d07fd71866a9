import RealtimeModel

/// What the writes of one commit have changed. Of changes that contain one another, one is left, at the outer target.
struct AppliedChanges {
    /// In the order in which they came; nil for one that another contains.
    private var all: [RealtimeAppliedChange?] = []
    /// The places in `all` of values and of priorities, by their paths.
    private var values: [RealtimePath: Int] = [:]
    private var priorities: [RealtimePath: Int] = [:]
    /// The places of what is below a path, or its priority. Some of them may contain nothing any more.
    private var below: [RealtimePath: [Int]] = [:]
    /// Whether changes were merged.
    private var isMerged = false

    mutating func add(_ new: RealtimeAppliedChange) {
        let target = new.change.target
        if let outer = outer(of: target.path),
            let relative = all[outer].flatMap({ target.relative(to: $0.change.target.path) })
        {
            all[outer]?.change.node.set(new.change.node, at: relative)
            return merge(new.top, into: outer)
        }
        guard target.isPriority else { return add(value: new) }
        guard let same = priorities[target.path] else { return priorities[target.path] = append(new) }
        all[same]?.change = new.change
        merge(new.top, into: same)
    }

    /// The place of a value that contains a path.
    private func outer(of path: RealtimePath) -> Int? {
        guard !values.isEmpty else { return nil }
        return (0...path.depth).lazy.compactMap { values[path.prefix($0)] }.first
    }

    private mutating func merge(_ top: Int?, into place: Int) {
        guard var change = all[place] else { return }
        isMerged = true
        change.extent = .any
        change.top = [top, change.top].compactMap(\.self).min()
        all[place] = change
    }

    private mutating func add(value new: RealtimeAppliedChange) {
        let path = new.change.target.path
        var inner: [RealtimeAppliedChange] = []
        for place in below.removeValue(forKey: path) ?? [] {
            guard let change = all[place] else { continue }
            inner.append(change)
            all[place] = nil
            let target = change.change.target
            if target.isPriority { priorities[target.path] = nil } else { values[target.path] = nil }
        }
        let place = append(new)
        values[path] = place
        for change in inner { merge(change.top, into: place) }
    }

    private mutating func append(_ new: RealtimeAppliedChange) -> Int {
        let target = new.change.target
        let place = all.count
        all.append(new)
        for depth in 0..<(target.path.depth + (target.isPriority ? 1 : 0)) {
            below[target.path.prefix(depth), default: []].append(place)
        }
        return place
    }

    /// The changes, which lead one after the other to the state after the commit.
    ///
    /// That isn't so for merged ones as they are: an object above them, with its priority, may be gone for a moment in one
    /// case, and not in the other. So an object that was gone is one change then, and what is removed comes last.
    ///
    /// - Parameter node: reads what is at a path after the commit.
    mutating func ordered(_ node: (RealtimePath) throws -> RealtimeNode?) rethrows -> [RealtimeAppliedChange] {
        guard isMerged else { return all.compactMap(\.self) }
        for path in all.compactMap({ $0?.topPath }).sorted(by: { $0.depth < $1.depth }) where outer(of: path) == nil {
            // Only what these writes have set is there.
            let change = RealtimeChange(RealtimeTarget(path), try node(path))
            add(value: RealtimeAppliedChange(change: change, extent: .any))
        }
        let left = all.compactMap(\.self)
        return left.filter { !$0.change.target.isPriority && $0.change.node != nil }
            + left.filter(\.change.target.isPriority)
            + left.filter { !$0.change.target.isPriority && $0.change.node == nil }
    }
}
