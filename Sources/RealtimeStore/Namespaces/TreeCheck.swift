import CommitPipeline
import DocumentModel
import StorageEngine

/// The counts and findings of a check of all namespaces.
package struct TreeCheckResult: Hashable, Sendable {
    package var rows = 0
    /// Whether there are problems that ``RealtimeStore/repairIndexes(until:)`` repairs.
    package var isRepairable = false

    package init() {}
}

/// Checks the rows of all namespaces: that each can be read and belongs to one, and that nodes and entries agree.
final class TreeCheck {
    let run: CheckRun
    var result = TreeCheckResult()
    private static let rowsBetweenTellings = 4_096

    init(_ run: CheckRun) { self.run = run }

    func check() throws {
        let catalog: RealtimeCatalog
        do {
            catalog = try RealtimeCatalog.read(run.storage, generation: 0)
        } catch let error as DecodingFailure {
            try run.note("the namespaces of the Realtime Database can't be read: \(error.reason)")
            return
        }
        for (name, damage) in catalog.damaged.sorted(by: { $0.key < $1.key }) {
            try run.note("the database \"\(name)\" can't be read: \(damage.reason)")
        }
        try checkTrees(catalog)
        for (name, record) in catalog.namespaces.sorted(by: { $0.key < $1.key }) {
            let rows = TreeRows(storage: run.storage, layout: record.layout)
            try run.part("the database \"\(name)\"") {
                try NamespaceCheck(name, rows, record.indexes, self).check()
            }
        }
        try checkDisconnects()
    }

    /// Checks that each registration can be read, and that exactly the sessions with registrations are listed, with their
    /// numbers.
    private func checkDisconnects() throws {
        var sessions: [[String]: (count: Int, bytes: Int)] = [:]
        try run.storage.scan(.tree, RowKind.disconnect.all, reverse: false) { key, row in
            do {
                let place = try DisconnectKey(stored: key)
                _ = try RealtimeDisconnect(stored: row, at: key)
                sessions[[place.namespace, place.session], default: (0, 0)].count += 1
                sessions[[place.namespace, place.session], default: (0, 0)].bytes += row.count
            } catch let error as DecodingFailure {
                try run.note("an onDisconnect can't be read: \(error.reason)")
            }
            return true
        }
        try run.storage.scan(.tree, RowKind.session.all, reverse: false) { key, row in
            do {
                let session = try DisconnectSessionRow(stored: row, at: key)
                let found = RowKind.texts(2, in: key).flatMap { sessions.removeValue(forKey: $0.texts) }
                guard let found else {
                    try run.note("a session is listed and has no onDisconnect")
                    return true
                }
                if found != (session.count, session.bytes) {
                    try run.note("a session has \(found.count) onDisconnect writes, and not \(session.count)")
                }
            } catch let error as DecodingFailure {
                try run.note("a session with an onDisconnect can't be read: \(error.reason)")
            }
            return true
        }
        if !sessions.isEmpty { try run.note("\(sessions.count) sessions with an onDisconnect aren't listed") }
    }

    /// Called for each row.
    func count() throws {
        result.rows += 1
        if result.rows % Self.rowsBetweenTellings == 0 { try run.advance(to: WorkProgress(done: result.rows)) }
    }

    /// Checks that each row of a tree is a namespace's, or garbage.
    private func checkTrees(_ catalog: RealtimeCatalog) throws {
        var owners: [UInt32: TreeLayout] = [:]
        for (name, record) in catalog.namespaces {
            for tree in record.layout.trees {
                if owners[tree] != nil { try run.note("the database \"\(name)\" shares a tree with another") }
                if tree >= catalog.nextTree { try run.note("the database \"\(name)\" has a tree of a future number") }
                owners[tree] = record.layout
            }
        }
        var strays = 0
        try run.storage.scanKeys(.tree, RowKind.node.all, reverse: false) { key in
            guard key.count >= TreeKey.headerCount else {
                strays += 1
                return true
            }
            let tree = key[1..<TreeKey.headerCount].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let path = key[TreeKey.headerCount...]
            let isKnown =
                owners[tree].map { layout in
                    layout.tree(of: path) == tree
                        || layout.garbage.contains { $0.tree == tree && $0.range.contains(path) }
                } ?? false
            if !isKnown { strays += 1 }
            return true
        }
        // They may be those of a database that can't be read.
        guard catalog.damaged.isEmpty else { return }
        if strays > 0 { try run.note("\(strays) rows of the Realtime Database belong to no database") }
    }
}
