import DocumentModel
import RealtimeModel
import StorageEngine

/// The registrations in one state.
struct DisconnectRows {
    let storage: any StorageReader

    /// The registrations of a session in their order. Rows that can't be read are left out; the check reports them.
    func all(of session: String, in namespace: String) throws -> [(key: DisconnectKey, row: RealtimeDisconnect)] {
        try all(in: KeyRange(prefix: DisconnectKey.prefix(namespace, session))).sorted { $0.key.order < $1.key.order }
    }

    private func all(in range: KeyRange) throws -> [(key: DisconnectKey, row: RealtimeDisconnect)] {
        var all: [(DisconnectKey, RealtimeDisconnect)] = []
        try storage.scan(.tree, range, damaged: { _, _ in }) { key, row in
            if let place = try? DisconnectKey(stored: key), let row = try? RealtimeDisconnect(stored: row, at: key) {
                all.append((place, row))
            }
            return true
        }
        return all
    }

    /// What is left of a registration from which a path is taken.
    struct Rest: Sendable {
        var key: DisconnectKey
        /// The row from which it was read.
        var stored: [UInt8]
        /// Nil if nothing is left.
        var rest: RealtimeDisconnect?
    }

    /// What a path and all below it leave of the registrations above it: of those that write there.
    ///
    /// - Throws: `invalid` if that is more than a session may have.
    func remainders(
        without path: RealtimePath, of session: String, in namespace: String,
        _ configuration: RealtimeStoreConfiguration
    ) throws -> [Rest] {
        var rests: [Rest] = []
        var bytes = 0
        for depth in 0..<path.depth {
            for operation in [RealtimeDisconnect.Operation.set, .update] {
                let range = DisconnectKey.range(of: operation, at: path.prefix(depth), namespace, session)
                try storage.scan(.tree, range, reverse: false) { key, row in
                    guard let place = try? DisconnectKey(stored: key),
                        let disconnect = try? RealtimeDisconnect(stored: row, at: key)
                    else { return true }
                    let rest = try disconnect.without(path)
                    guard rest != disconnect else { return true }
                    bytes += rest?.value.count ?? 0
                    guard bytes <= configuration.maxDisconnectBytes else {
                        throw DisconnectEditor.tooManyBytes(configuration)
                    }
                    rests.append(Rest(key: place, stored: row, rest: rest))
                    return true
                }
            }
        }
        return rests
    }

    func exists(_ key: DisconnectKey) throws -> Bool { try storage.get(.tree, key.stored) != nil }

    /// The sessions, up to the first key that can't be read, and why it can't.
    func sessions() throws -> (found: [RealtimeDisconnectSession], damage: RealtimeFailure?) {
        var sessions: [RealtimeDisconnectSession] = []
        do {
            try storage.scanKeys(.tree, RowKind.session.all, reverse: false) { key in
                guard let (texts, _) = RowKind.texts(2, in: key) else { return true }
                sessions.append(.init(namespace: texts[0], session: texts[1]))
                return true
            }
        } catch let error as StorageError where error.kind == .damaged {
            return (sessions, RealtimeFailure(from: error))
        }
        return (sessions, nil)
    }

    fileprivate func session(_ session: String, in namespace: String) throws -> DisconnectSessionRow {
        let key = RowKind.session.key(namespace, session)
        do {
            guard let stored = try storage.get(.tree, key) else { return DisconnectSessionRow() }
            if let row = try? DisconnectSessionRow(stored: stored, at: key) { return row }
        } catch let error as StorageError where error.isOfRows {}
        // It can't be read; if it is damaged, the check reports it. A failure here would be that of all commits of the
        // batch.
        var row = DisconnectSessionRow()
        func count(_ key: [UInt8], _ bytes: Int) {
            row.count += 1
            row.bytes += bytes
            if let order = (try? DisconnectKey(stored: key))?.order { row.nextOrder = max(row.nextOrder, order &+ 1) }
        }
        let range = KeyRange(prefix: DisconnectKey.prefix(namespace, session))
        try storage.scan(.tree, range, damaged: { key, _ in count(key, 0) }) { key, stored in
            count(key, stored.count)
            return true
        }
        return row
    }
}

/// Changes the registrations of one session.
struct DisconnectEditor {
    private let storage: any StorageWriter
    private let namespace: String
    private let session: String
    private var row: DisconnectSessionRow

    /// Which updates are looked at for what replaces them: all commits wait meanwhile.
    private static let maxComparedRows = 16
    private static let maxComparedBytes = 4 * 1024

    init(_ session: String, in namespace: String, on storage: any StorageWriter) throws {
        self.storage = storage
        self.namespace = namespace
        self.session = session
        row = try DisconnectRows(storage: storage).session(session, in: namespace)
    }

    /// Adds a registration behind the others. A set removes those at its path and below, and small updates above that
    /// write nothing else; an update removes small ones at its path, if it updates all that they write: SDKs take the
    /// last for what happens.
    ///
    /// - Returns: why it isn't added; nothing has changed then.
    mutating func add(
        _ disconnect: RealtimeDisconnect, _ configuration: RealtimeStoreConfiguration
    ) throws -> RealtimeFailure? {
        let covered: [(key: [UInt8], bytes: Int)]
        switch disconnect.operation {
        case .set where disconnect.target.isPriority: covered = []
        case .set: covered = try rows(atAndBelow: disconnect.target.path) + updates(aboveAndWithin: disconnect.target)
        case .update: covered = try updates(coveredBy: disconnect)
        }
        let key = DisconnectKey(disconnect, of: session, in: namespace, order: row.nextOrder).stored
        let stored = disconnect.stored(at: key)
        guard row.count - covered.count < configuration.maxDisconnects else {
            return RealtimeFailure(
                .invalid, "a client may have \(configuration.maxDisconnects) onDisconnect writes, the limit")
        }
        guard row.bytes - covered.reduce(0, { $0 + $1.bytes }) + stored.count <= configuration.maxDisconnectBytes else {
            return Self.tooManyBytes(configuration)
        }
        try remove(covered)
        try storage.put(.tree, key, stored)
        row.nextOrder += 1
        row.count += 1
        row.bytes += stored.count
        return nil
    }

    static func tooManyBytes(_ configuration: RealtimeStoreConfiguration) -> RealtimeFailure {
        RealtimeFailure(
            .invalid, "the onDisconnect writes of a client may have \(configuration.maxDisconnectBytes) bytes")
    }

    /// Removes what is registered for a path and all below it.
    ///
    /// - Parameter rests: what that leaves of the registrations above.
    /// - Returns: false if one of these has changed, or why what is left can't be kept; then nothing was done.
    mutating func remove(
        at path: RealtimePath, _ rests: [DisconnectRows.Rest], _ configuration: RealtimeStoreConfiguration
    ) throws -> Result<Bool, RealtimeFailure> {
        for rest in rests where try storage.get(.tree, rest.key.stored) != rest.stored { return .success(false) }
        var kept: [(key: [UInt8], row: [UInt8])] = []
        for rest in rests {
            guard let disconnect = rest.rest else { continue }
            var place = rest.key
            // That of a value may be an update now.
            place.operation = disconnect.operation
            let key = place.stored
            kept.append((key, disconnect.stored(at: key)))
        }
        let added = kept.reduce(0) { $0 + $1.row.count } - rests.reduce(0) { $0 + $1.stored.count }
        guard added <= 0 || row.bytes + added <= configuration.maxDisconnectBytes else {
            return .failure(Self.tooManyBytes(configuration))
        }
        let covered = try rows(atAndBelow: path)
        try remove(covered)
        for rest in rests { try remove(rest.key) }
        for (key, stored) in kept {
            try storage.put(.tree, key, stored)
            row.count += 1
            row.bytes += stored.count
        }
        return .success(true)
    }

    mutating func remove(_ key: DisconnectKey) throws {
        let stored = key.stored
        guard let bytes = try storage.get(.tree, stored)?.count else { return }
        try storage.delete(.tree, stored)
        row.count -= 1
        row.bytes -= bytes
    }

    private func updates(coveredBy disconnect: RealtimeDisconnect) throws -> [(key: [UInt8], bytes: Int)] {
        let path = disconnect.target.path
        guard disconnect.value.count <= Self.maxComparedBytes,
            let update = try? RealtimeUpdate(parsing: disconnect.value, at: path)
        else { return [] }
        var left = Self.maxComparedRows
        return try updates(at: path, &left) { update.covers($0) }
    }

    /// Updates above a target that write at and below it only: those of clients are all at the root.
    private func updates(aboveAndWithin target: RealtimeTarget) throws -> [(key: [UInt8], bytes: Int)] {
        var found: [(key: [UInt8], bytes: Int)] = []
        var left = Self.maxComparedRows
        for depth in 0..<target.path.depth where left > 0 {
            found += try updates(at: target.path.prefix(depth), &left) { update in
                update.entries.allSatisfy { target.contains($0.target) }
            }
        }
        return found
    }

    /// - Parameter left: how many more rows may be looked at, the newest first; at least 1.
    private func updates(
        at path: RealtimePath, _ left: inout Int, where isReplaced: (RealtimeUpdate) -> Bool
    ) throws -> [(key: [UInt8], bytes: Int)] {
        var found: [(key: [UInt8], bytes: Int)] = []
        var rows = left
        let range = DisconnectKey.range(of: .update, at: path, namespace, session)
        try storage.scan(.tree, range, reverse: true) { key, row in
            rows -= 1
            if row.count <= Self.maxComparedBytes, let earlier = try? RealtimeDisconnect(stored: row, at: key),
                let written = try? RealtimeUpdate(parsing: earlier.value, at: path), isReplaced(written)
            {
                found.append((key, row.count))
            }
            return rows > 0
        }
        left = rows
        return found
    }

    private func rows(atAndBelow path: RealtimePath) throws -> [(key: [UInt8], bytes: Int)] {
        try [RealtimeDisconnect.Operation.set, .update].flatMap { operation in
            try rows(in: DisconnectKey.range(of: operation, atAndBelow: path, namespace, session))
        }
    }

    private func rows(in range: KeyRange) throws -> [(key: [UInt8], bytes: Int)] {
        var found: [(key: [UInt8], bytes: Int)] = []
        try storage.scan(.tree, range, reverse: false) { key, row in
            found.append((key, row.count))
            return true
        }
        return found
    }

    private mutating func remove(_ rows: [(key: [UInt8], bytes: Int)]) throws {
        for (key, bytes) in rows {
            try storage.delete(.tree, key)
            row.count -= 1
            row.bytes -= bytes
        }
    }

    /// Stores what is kept of the session.
    func finish() throws {
        let key = RowKind.session.key(namespace, session)
        if row.count > 0 {
            try storage.put(.tree, key, row.stored(at: key))
        } else {
            try storage.delete(.tree, key)
        }
    }
}

extension RealtimeUpdate {
    /// Whether it also writes all that the other one writes.
    fileprivate func covers(_ other: RealtimeUpdate) -> Bool {
        var index = 0
        for entry in other.entries {
            // What a target contains follows it at once.
            while index + 1 < entries.count, !(entry.target < entries[index + 1].target) { index += 1 }
            guard index < entries.count, entries[index].target.contains(entry.target) else { return false }
        }
        return true
    }
}
