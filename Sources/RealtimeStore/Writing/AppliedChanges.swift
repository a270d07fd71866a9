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
        let inner = takeChanges(below: path)
        let place = append(new)
        values[path] = place
        for change in inner { merge(change.top, into: place) }
    }

    private mutating func takeChanges(below path: RealtimePath) -> [RealtimeAppliedChange] {
        var inner: [RealtimeAppliedChange] = []
        for place in below.removeValue(forKey: path) ?? [] {
            guard let change = all[place] else { continue }
            inner.append(change)
            all[place] = nil
            let target = change.change.target
            if target.isPriority { priorities[target.path] = nil } else { values[target.path] = nil }
        }
        return inner
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

    /// The changes, which lead to the state after the commit in whatever order a client applies them.
    ///
    /// That isn't so as they are: an object without children loses its priority, and in one order all its children may be
    /// gone for a moment, in another not. So an object that was gone, or that has a priority and nothing that was there
    /// before, is one change.
    ///
    /// - Parameter after: the state after the commit.
    mutating func independent(in after: RealtimeSnapshot) throws -> [RealtimeAppliedChange] {
        let changes = all.compactMap(\.self)
        guard changes.count > 1 || isMerged else { return changes }
        try raise(changes.compactMap(\.topPath), in: after) { _ in true }
        try raise(Array(Self.maybeEmptied(by: changes.lazy.map(\.change))), in: after) { [self] path in
            try after.priority(at: path) != nil && isNew(path, in: after)
        }
        return all.compactMap(\.self)
    }

    /// The objects whose children may all be gone for a moment, or not be there yet when they get their priority: those
    /// that changes set something in, beside what they remove or the priority.
    private static func maybeEmptied(by changes: some Sequence<RealtimeChange>) -> Set<RealtimePath> {
        var filled: Set<RealtimePath> = []
        var emptied: Set<RealtimePath> = []
        for change in changes {
            let path = change.target.path
            if change.target.isPriority {
                emptied.insert(path)
            } else {
                for depth in 0..<path.depth {
                    if change.node == nil {
                        emptied.insert(path.prefix(depth))
                    } else {
                        filled.insert(path.prefix(depth))
                    }
                }
            }
        }
        return emptied.intersection(filled)
    }

    /// Whether clients may be led elsewhere if they apply changes in another order: not by setting alone.
    static func dependOnOrder(_ changes: [RealtimeAppliedChange]) -> Bool {
        changes.contains { $0.change.node != nil && !$0.change.target.isPriority }
            && changes.contains { $0.change.node == nil || $0.change.target.isPriority }
    }

    /// Replaces what has changed below objects by one change of each. All that is there was set by the commit, so it isn't
    /// larger.
    private mutating func raise(
        _ paths: [RealtimePath], in after: RealtimeSnapshot, where isNeeded: (RealtimePath) throws -> Bool
    ) throws {
        for path in paths.sorted(by: { $0.depth < $1.depth }) where outer(of: path) == nil {
            guard try isNeeded(path) else { continue }
            var bytes = ReadBytes()
            let change = RealtimeChange(RealtimeTarget(path), try after.node(at: path, counting: &bytes))
            let parts = takeChanges(below: path)
            values[path] = append(
                RealtimeAppliedChange(change: change, extent: .parts(RealtimeAppliedChange.Parts(parts))))
        }
    }

    /// Whether an object has nothing that was there before.
    private func isNew(_ path: RealtimePath, in after: RealtimeSnapshot) throws -> Bool {
        let key = TreeKey.of(path)
        var isNew = false
        try after.eachChild(of: key, in: TreeKey.children(of: key)) { child in
            let child = path.child(child.key)
            if values[child] != nil {
                isNew = true
            } else {
                isNew = try below[child] != nil && self.isNew(child, in: after)
            }
            return isNew
        }
        return isNew
    }
}
