import DocumentModel
package import RealtimeModel

/// A write that happens when a client disconnects.
package struct RealtimeDisconnect: Hashable, Sendable {
    package enum Operation: UInt8, Hashable, Sendable {
        /// Sets a value or a priority.
        case set = 1
        /// Updates several paths.
        case update
    }

    package var operation: Operation
    /// What is set, or where an update's paths start.
    package var target: RealtimeTarget
    /// The JSON of the value or of the update, as the client has sent it: server values are computed when it happens.
    package var value: [UInt8]
    /// On whose behalf it is written, in a form of the caller's.
    package var principal: [UInt8]

    package init(_ operation: Operation, _ target: RealtimeTarget, value: [UInt8], principal: [UInt8]) {
        self.operation = operation
        self.target = target
        self.value = value
        self.principal = principal
    }

    /// The write.
    ///
    /// - Throws: `RealtimeError` if the value isn't valid.
    package func write() throws(RealtimeError) -> RealtimeWrite {
        switch operation {
        case .set: .set(target, try RealtimeWriteValue(parsing: value, at: target))
        case .update: .update(try RealtimeUpdate(parsing: value, at: target.path))
        }
    }

    /// What is left without a path and all below it; nil if that is nothing. What can't be read stays as it is.
    ///
    /// A value above the path becomes an update with its parts beside the path, as SDKs have it: what it lacks isn't
    /// deleted any more. One that deletes, or is a leaf, stays.
    ///
    /// - Throws: if what is left is much longer.
    func without(_ path: RealtimePath) throws(RealtimeFailure) -> RealtimeDisconnect? {
        guard !path.contains(target.path) else { return nil }
        guard target.path.contains(path), let write = try? self.write() else { return self }
        let entries: [RealtimeUpdate.Entry] =
            switch write {
            case .set(let target, let value, _): [.init(target: target, value: value)]
            case .update(let update): update.entries
            }
        var left: [RealtimeUpdate.Entry] = []
        var isSame = true
        for entry in entries {
            if let parts = entry.parts(without: path) {
                isSame = false
                left += parts
            } else {
                left.append(entry)
            }
        }
        guard !isSame else { return self }
        guard !left.isEmpty else { return nil }
        let relative = left.map { entry in
            RealtimeUpdate.Entry(target: entry.target.relative(to: target.path) ?? entry.target, value: entry.value)
        }
        // Each part of a value has the keys on the way to it.
        let pathBytes = relative.reduce(0) { $1.target.path.keys.reduce($0) { $0 + $1.string.utf8.count + 1 } }
        guard pathBytes <= value.count + Self.maxAddedBytes else {
            throw RealtimeFailure(.invalid, "too much is left of an onDisconnect write above the path; cancel that")
        }
        guard let update = try? RealtimeUpdate(relative) else { return self }
        var rest = self
        rest.operation = .update
        rest.value = update.json
        return rest
    }

    private static let maxAddedBytes = 256 * 1024

    init(stored row: [UInt8], at key: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(try SealedRow.open(row, at: key, "an onDisconnect"))
        guard let operation = Operation(rawValue: try reader.byte()) else {
            throw DecodingFailure("an onDisconnect has an unknown operation")
        }
        let path = try reader.string()
        do throws(RealtimeError) { target = try RealtimeTarget(path) } catch {
            throw DecodingFailure("the path of an onDisconnect can't be read")
        }
        self.operation = operation
        value = try reader.blob()
        principal = try reader.blob()
        try reader.finish()
    }

    func stored(at key: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: value.count + 64)
        writer.write(byte: operation.rawValue)
        writer.write(target.string)
        writer.write(blob: value)
        writer.write(blob: principal)
        return SealedRow.seal(writer.bytes, at: key)
    }
}

extension RealtimeUpdate.Entry {
    /// What is left without a path and all below it, as entries of their own; nil if that is the entry as it is.
    fileprivate func parts(without path: RealtimePath) -> [RealtimeUpdate.Entry]? {
        if path.contains(target.path) { return [] }
        guard !target.isPriority, let relative = path.relative(to: target.path),
            let parts = value.parts(without: relative)
        else { return nil }
        return parts.map { .init(target: target.appending(RealtimeTarget($0.path)), value: $0.value) }
    }
}

/// A session with registrations.
package struct RealtimeDisconnectSession: Hashable, Sendable {
    package var namespace: String
    package var session: String

    package init(namespace: String, session: String) {
        self.namespace = namespace
        self.session = session
    }
}
