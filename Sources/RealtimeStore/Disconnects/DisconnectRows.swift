import DocumentModel
import RealtimeModel
import StorageEngine

/// The registrations in one state.
struct DisconnectRows {
    let storage: any StorageReader

    /// The registrations of a session in their order. Rows that can't be read are left out; the check reports them.
    func all(of session: String, in namespace: String) throws -> [(key: DisconnectKey, row: RealtimeDisconnect)] {
        var all: [(DisconnectKey, RealtimeDisconnect)] = []
        let range = KeyRange(prefix: DisconnectKey.prefix(namespace, session))
        try storage.scan(.tree, range, reverse: false) { key, row in
            if let place = try? DisconnectKey(stored: key), let row = try? RealtimeDisconnect(stored: row, at: key) {
                all.append((place, row))
            }
            return true
        }
        return all
    }

    func count(of session: String, in namespace: String) throws -> Int {
        try storage.count(.tree, KeyRange(prefix: DisconnectKey.prefix(namespace, session)))
    }

    /// The order of the next registration of a session.
    func nextOrder(of session: String, in namespace: String) throws -> UInt64 {
        var last: UInt64?
        try storage.scanKeys(.tree, KeyRange(prefix: DisconnectKey.prefix(namespace, session)), reverse: true) { key in
            last = (try? DisconnectKey(stored: key))?.order
            return false
        }
        return last.map { $0 + 1 } ?? 0
    }

    func exists(_ key: DisconnectKey) throws -> Bool { try storage.get(.tree, key.stored) != nil }

    func sessions() throws -> [RealtimeDisconnectSession] {
        var sessions: [RealtimeDisconnectSession] = []
        try storage.scan(.tree, RowKind.session.all, reverse: false) { key, row in
            guard let (texts, _) = RowKind.texts(2, in: key) else { return true }
            // A session whose time can't be read is as old as can be.
            let time = (try? Self.time(row, at: key)) ?? 0
            sessions.append(.init(namespace: texts[0], session: texts[1], registeredAt: time))
            return true
        }
        return sessions
    }

    static func time(_ row: [UInt8], at key: [UInt8]) throws(DecodingFailure) -> Int64 {
        var reader = ByteReader(try SealedRow.open(row, at: key, "a session with an onDisconnect"))
        let time = try reader.signed()
        try reader.finish()
        return time
    }

    static func row(_ time: Int64, at key: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 8)
        writer.write(signed: time)
        return SealedRow.seal(writer.bytes, at: key)
    }
}

extension StorageWriter {
    /// Adds a registration behind the others of its session. Those of sets that it repeats or covers are removed.
    func add(_ disconnect: RealtimeDisconnect, of session: String, in namespace: String, at time: Int64) throws {
        let rows = DisconnectRows(storage: self)
        let order = try rows.nextOrder(of: session, in: namespace)
        if disconnect.operation == .set, !disconnect.target.isPriority {
            for (key, row) in try rows.all(of: session, in: namespace) where row.operation == .set {
                if disconnect.target.contains(row.target) { try delete(.tree, key.stored) }
            }
        }
        let key = DisconnectKey(namespace: namespace, session: session, order: order).stored
        try put(.tree, key, disconnect.stored(at: key))
        let sessionKey = RowKind.session.key(namespace, session)
        if try get(.tree, sessionKey) == nil { try put(.tree, sessionKey, DisconnectRows.row(time, at: sessionKey)) }
    }

    /// Removes what a session has registered for a path and all below it.
    func removeDisconnects(at path: RealtimePath, of session: String, in namespace: String) throws {
        for (key, row) in try DisconnectRows(storage: self).all(of: session, in: namespace) {
            let rest = row.without(path)
            if rest == row { continue }
            if let rest {
                try put(.tree, key.stored, rest.stored(at: key.stored))
            } else {
                try delete(.tree, key.stored)
            }
        }
        try removeSessionIfEmpty(session, in: namespace)
    }

    func remove(_ key: DisconnectKey) throws {
        try delete(.tree, key.stored)
        try removeSessionIfEmpty(key.session, in: key.namespace)
    }

    private func removeSessionIfEmpty(_ session: String, in namespace: String) throws {
        var isEmpty = true
        try scanKeys(.tree, KeyRange(prefix: DisconnectKey.prefix(namespace, session)), reverse: false) { _ in
            isEmpty = false
            return false
        }
        if isEmpty { try delete(.tree, RowKind.session.key(namespace, session)) }
    }
}
