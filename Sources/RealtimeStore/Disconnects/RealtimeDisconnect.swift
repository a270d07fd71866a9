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

    /// What is left without a path and all below it; nil if that is nothing. An update that can't be read stays as it is.
    func without(_ path: RealtimePath) -> RealtimeDisconnect? {
        guard !path.contains(target.path) else { return nil }
        guard operation == .update, target.path.contains(path),
            let update = try? RealtimeUpdate(parsing: value, at: target.path)
        else { return self }
        let left = update.entries.filter { !path.contains($0.target.path) }
        guard !left.isEmpty else { return nil }
        guard left.count < update.entries.count,
            let relative = try? RealtimeUpdate(
                left.map { .init(target: $0.target.relative(to: target.path) ?? $0.target, value: $0.value) })
        else { return self }
        var rest = self
        rest.value = relative.json
        return rest
    }

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

/// A session with registrations.
package struct RealtimeDisconnectSession: Hashable, Sendable {
    package var namespace: String
    package var session: String

    package init(namespace: String, session: String) {
        self.namespace = namespace
        self.session = session
    }
}
