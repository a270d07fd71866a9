import StorageEngine
import DocumentModel

/// The holder of a task's name in its queue.
struct TaskName: Hashable {
    /// The task that has the name.
    var event: EventID
    /// When the name becomes free again; nil while the task isn't done.
    var expires: Int64?

    /// How long a name stays taken after its task has ended, in microseconds.
    static let kept: Int64 = 86_400_000_000

    init(event: EventID, expires: Int64? = nil) {
        self.event = event
        self.expires = expires
    }

    var row: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 24)
        writer.write(fixed: UInt64(bitPattern: event.version))
        writer.write(varint: UInt64(event.ordinal))
        writer.write(optional: expires) { $0.write(signed: $1) }
        return writer.bytes
    }

    init(_ row: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(row)
        let version = Int64(bitPattern: try reader.fixed())
        guard let ordinal = UInt32(exactly: try reader.varint()) else {
            throw DecodingFailure("the place of an event in its commit is out of range")
        }
        event = EventID(version: version, ordinal: ordinal)
        expires = try reader.optional { reader throws(DecodingFailure) in try reader.signed() }
        try reader.finish()
    }
}

extension StorageReader {
    /// - Throws: `alreadyExists` if a task of the queue has the name, or had it less than a day ago.
    func checkIsFree(_ name: String, of queue: String, at now: Timestamp) throws {
        guard let row = try get(.deliveries, OutboxKey.taskName(name, of: queue)) else { return }
        if let expires = try TaskName(row).expires, expires <= now.microseconds { return }
        throw DocumentError(
            .alreadyExists,
            "the queue \(queue) has a task named \(name), or had one until less than a day ago; leave the name out or "
                + "use another")
    }

    /// A task that isn't done yet, found by its name, else by its event.
    ///
    /// - Throws: `DecodingFailure` if it can't be read.
    func task(_ id: String, of queue: String) throws -> Delivery? {
        var task: Delivery?
        if let row = try get(.deliveries, OutboxKey.taskName(id, of: queue)) {
            task = try delivery(DeliveryID(event: try TaskName(row).event, function: queue))
        }
        if task == nil, let event = EventID(id) {
            task = try delivery(DeliveryID(event: event, function: queue))
            // A task with a name can only be found by that name.
            if task?.taskName != nil { task = nil }
        }
        if case .dead? = task?.state { return nil }
        return task
    }
}

extension StorageWriter {
    /// Takes a free name.
    func hold(_ name: String, for id: DeliveryID, at now: Timestamp) throws {
        let key = OutboxKey.taskName(name, of: id.function)
        if let row = try get(.deliveries, key), let expires = (try? TaskName(row))?.expires {
            try delete(.deliveries, OutboxKey.taskNameExpiries.key(expires, of: key))
        }
        try put(.deliveries, key, TaskName(event: id.event).row)
    }

    /// Makes names free in time whose tasks ended while the clock was ahead: they would stay taken until it shows that
    /// time again.
    ///
    /// - Parameter limit: the names that are changed at most.
    /// - Returns: whether there may be more.
    func shortenNames(at now: Timestamp, atMost limit: Int) throws -> Bool {
        let entries = OutboxKey.taskNameExpiries
        let latest = now.microseconds + TaskName.kept
        var late: [(entry: [UInt8], name: [UInt8], holder: TaskName)] = []
        try scanKeys(entries.table, entries.range(from: latest + 1, before: .max), reverse: false) { entry in
            // The check reports an entry that doesn't fit its name.
            if let (time, name) = ExpiryEntries.parts(of: entry), let row = try get(entries.table, name),
                let holder = try? TaskName(row), holder.expires == time
            {
                late.append((entry, name, holder))
            }
            return late.count < limit
        }
        for (entry, name, holder) in late {
            try delete(entries.table, entry)
            try put(entries.table, name, TaskName(event: holder.event, expires: latest).row)
            try put(entries.table, entries.key(latest, of: name), [])
        }
        return late.count == limit
    }

    /// Schedules the release of a name whose task has ended.
    func free(_ name: String, for id: DeliveryID, at now: Timestamp) throws {
        let key = OutboxKey.taskName(name, of: id.function)
        let expires = now.microseconds + TaskName.kept
        try put(.deliveries, key, TaskName(event: id.event, expires: expires).row)
        try put(.deliveries, OutboxKey.taskNameExpiries.key(expires, of: key), [])
    }
}
