extension IndexCatalog {
    /// The work that a change of the configuration causes.
    struct Changes: Sendable {
        var added: [Index] = []
        var dropped: [Index] = []
        /// Collections whose field entries must be updated.
        var collections: [String] = []

        var isEmpty: Bool { added.isEmpty && dropped.isEmpty && collections.isEmpty }
    }

    /// Applies a configuration: new indexes are to be built, and those that it no longer contains are to be dropped.
    mutating func configure(_ configuration: IndexConfiguration) -> Changes {
        var changes = Changes()
        var wanted = Set(configuration.indexes)
        var indexes = indexes
        for position in indexes.indices where indexes[position].state != .dropping {
            guard wanted.remove(indexes[position].definition) == nil else { continue }
            indexes[position].state = .dropping
            changes.dropped.append(indexes[position])
        }
        // In the configuration's order, each once.
        for definition in configuration.indexes where wanted.remove(definition) != nil {
            let index = Index(id: nextID, definition: definition, state: .building)
            nextID += 1
            indexes.append(index)
            changes.added.append(index)
        }
        var fields = fields
        let areExempt = configure(configuration.exemptions, &fields, &changes)
        if !changes.isEmpty || areExempt { set(indexes: indexes, fields: fields) }
        return changes
    }

    /// - Returns: whether anything changed, even if only in wording.
    private func configure(
        _ exemptions: [FieldExemption], _ fields: inout [Fields], _ changes: inout Changes
    ) -> Bool {
        var wanted: [CollectionID: [FieldExemption]] = [:]
        for exemption in exemptions { wanted[CollectionID(exemption.collectionID), default: []].append(exemption) }
        var isChanged = false
        for position in fields.indices {
            let target = wanted.removeValue(forKey: CollectionID(fields[position].collectionID)) ?? []
            guard target != fields[position].exemptions else { continue }
            isChanged = true
            if fields[position].change(to: target) { changes.collections.append(fields[position].collectionID) }
        }
        for (collection, target) in wanted.sorted(by: { $0.key.text < $1.key.text }) {
            var added = Fields(collectionID: collection.text, exemptions: [])
            isChanged = true
            if added.change(to: target) { changes.collections.append(collection.text) }
            fields.append(added)
        }
        return isChanged
    }

    /// Begins to recreate all entries: queries use none of them until that is done.
    mutating func beginRebuilding() {
        isRebuilding = true
        set(
            indexes: indexes.map { index in
                var index = index
                if index.isReady { index.state = .building }
                return index
            }, fields: fields)
    }

    /// Records that a pass over documents has ended.
    mutating func finish(_ pass: IndexPass) {
        if pass.scope == .everything { isRebuilding = false }
        set(
            indexes: indexes.map { index in
                var index = index
                if index.state == .building, pass.indexes.contains(index.id) { index.state = .ready }
                return index
            },
            fields: fields.map { fields in
                var fields = fields
                if pass.fields.contains(CollectionID(fields.collectionID)) { fields.earlier = [] }
                return fields
            })
    }

    /// Records that an index has no entries any more.
    mutating func dropped(_ id: UInt32) {
        set(indexes: indexes.filter { $0.id != id }, fields: fields)
    }
}

extension IndexCatalog.Fields {
    /// - Returns: whether entries must be updated.
    fileprivate mutating func change(to target: [FieldExemption]) -> Bool {
        let (old, new) = (FieldRules([exemptions]), FieldRules([target]))
        let isSame = isSettled && old.covers(new) && new.covers(old)
        if !isSame, !earlier.contains(exemptions) { earlier.append(exemptions) }
        exemptions = target
        return !isSame
    }
}
