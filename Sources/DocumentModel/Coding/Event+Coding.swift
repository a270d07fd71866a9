extension Event {
    private static let format: UInt8 = 1

    package var encoded: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 256)
        writer.write(byte: Self.format)
        writer.write(fixed: UInt64(bitPattern: id.version))
        writer.write(varint: UInt64(id.ordinal))
        writer.write(time)
        writer.write(auth.type.rawValue)
        writer.write(optional: auth.id) { $0.write($1) }
        writer.write(chain) { $0.write($1) }
        switch content {
        case .document(let path, let before, let after):
            writer.write(byte: 1)
            writer.write(path)
            writer.write(optional: before) { $0.write($1) }
            writer.write(optional: after) { $0.write($1) }
        case .schedule(let job, let isManual):
            writer.write(byte: 2)
            writer.write(job)
            writer.write(isManual)
        case .task(let task):
            writer.write(byte: 3)
            writer.write(task)
        case .custom(let event):
            writer.write(byte: 4)
            writer.write(event)
        case .reference(let change):
            writer.write(byte: 5)
            writer.write(change)
        }
        return writer.bytes
    }

    /// Decodes only the event's chain.
    package static func chain(of bytes: [UInt8]) throws(DecodingFailure) -> [String] {
        var reader = ByteReader(bytes)
        return try head(from: &reader).chain
    }

    private typealias Head = (id: EventID, time: Timestamp, auth: EventAuth, chain: [String])

    private static func head(from reader: inout ByteReader) throws(DecodingFailure) -> Head {
        guard try reader.byte() == format else { throw DecodingFailure("an event has an unknown format") }
        let version = Int64(bitPattern: try reader.fixed())
        guard let ordinal = UInt32(exactly: try reader.varint()) else {
            throw DecodingFailure("an event's position in its commit is out of range")
        }
        let id = EventID(version: version, ordinal: ordinal)
        let time = try reader.timestamp()
        let type = EventAuth.AuthType(rawValue: try reader.string()) ?? .unknown
        let auth = EventAuth(type, id: try reader.optionalString())
        return (id, time, auth, try reader.list { reader throws(DecodingFailure) in try reader.string() })
    }

    package init(decoding bytes: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        (id, time, auth, chain) = try Self.head(from: &reader)
        switch try reader.byte() {
        case 1:
            content = .document(
                try reader.path(),
                before: try reader.optional { reader throws(DecodingFailure) in try reader.document() },
                after: try reader.optional { reader throws(DecodingFailure) in try reader.document() })
        case 2: content = .schedule(job: try reader.string(), isManual: try reader.bool())
        case 3: content = .task(try reader.task())
        case 4: content = .custom(try reader.cloudEvent())
        case 5: content = .reference(try reader.referenceChange())
        case let tag: throw DecodingFailure("unknown event content tag \(tag)")
        }
        try reader.finish()
    }
}

extension DeliveryAttempt {
    package var encoded: [UInt8] { encodedStart + event }

    /// All but the event itself, which follows as it is stored.
    package var encodedStart: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 32)
        writer.write(count: retryCount)
        writer.write(count: executionCount)
        writer.write(optional: previousResponse) { $0.write(count: $1) }
        writer.write(optional: retryReason) { $0.write($1) }
        writer.write(count: event.count)
        return writer.bytes
    }

    package init(decoding bytes: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        retryCount = try reader.size()
        executionCount = try reader.size()
        previousResponse = try reader.optional { reader throws(DecodingFailure) in try reader.size() }
        retryReason = try reader.optionalString()
        event = try reader.blob()
        try reader.finish()
    }
}

extension Effect {
    package func write(to writer: inout ByteWriter) {
        switch self {
        case .enqueue(let task):
            writer.write(byte: 1)
            writer.write(task)
            writer.write(task.startsNewChain)
        case .publish(let event):
            writer.write(byte: 2)
            writer.write(event)
        case .deleteTask(let id, let queue):
            writer.write(byte: 3)
            writer.write(id)
            writer.write(queue)
        }
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        switch try reader.byte() {
        case 1:
            var task = try reader.task()
            task.startsNewChain = try reader.bool()
            self = .enqueue(task)
        case 2: self = .publish(try reader.cloudEvent())
        case 3: self = .deleteTask(try reader.string(), queue: try reader.string())
        case let tag: throw DecodingFailure("unknown effect tag \(tag)")
        }
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ task: TaskDraft) {
        write(task.queue)
        write(optional: task.name) { $0.write($1) }
        write(blob: task.body)
        write(task.headers)
        write(optional: task.scheduleTime) { $0.write($1) }
        write(optional: task.dispatchDeadline) { $0.write(signed: Int64($1)) }
    }

    fileprivate mutating func write(_ event: CloudEvent) {
        for text in [event.id, event.type, event.source, event.subject, event.dataContentType, event.dataSchema] {
            write(optional: text) { $0.write($1) }
        }
        write(optional: event.time) { $0.write($1) }
        write(event.attributes)
        write(blob: event.data)
    }

    fileprivate mutating func write(_ change: ReferenceChange) {
        write(change.instance)
        write(change.path)
        write(optional: change.before) { $0.write(blob: $1) }
        write(change.settings) { writer, setting in
            writer.write(setting.target)
            writer.write(optional: setting.value) { $0.write(blob: $1) }
        }
        write(change.existsAfter)
    }

    private mutating func write(_ texts: [String: String]) {
        write(texts.sorted { $0.key < $1.key }) {
            $0.write($1.key)
            $0.write($1.value)
        }
    }
}

extension ByteReader {
    fileprivate mutating func optionalString() throws(DecodingFailure) -> String? {
        try optional { reader throws(DecodingFailure) in try reader.string() }
    }

    private mutating func texts() throws(DecodingFailure) -> [String: String] {
        let pairs = try list { reader throws(DecodingFailure) in (try reader.string(), try reader.string()) }
        return Dictionary(pairs) { _, last in last }
    }

    fileprivate mutating func task() throws(DecodingFailure) -> TaskDraft {
        TaskDraft(
            queue: try string(), name: try optionalString(), body: try blob(), headers: try texts(),
            scheduleTime: try optional { reader throws(DecodingFailure) in try reader.timestamp() },
            dispatchDeadline: try optional { reader throws(DecodingFailure) in
                Int(truncatingIfNeeded: try reader.signed())
            })
    }

    fileprivate mutating func referenceChange() throws(DecodingFailure) -> ReferenceChange {
        ReferenceChange(
            instance: try string(), path: try string(),
            before: try optional { reader throws(DecodingFailure) in try reader.blob() },
            settings: try list { reader throws(DecodingFailure) in
                ReferenceChange.Setting(
                    try reader.string(), try reader.optional { reader throws(DecodingFailure) in try reader.blob() })
            }, existsAfter: try bool())
    }

    fileprivate mutating func cloudEvent() throws(DecodingFailure) -> CloudEvent {
        let id = try optionalString()
        guard let type = try optionalString(), let source = try optionalString() else {
            throw DecodingFailure("an event has no type or no source")
        }
        var event = CloudEvent(type: type, source: source, id: id)
        event.subject = try optionalString()
        event.dataContentType = try optionalString()
        event.dataSchema = try optionalString()
        event.time = try optional { reader throws(DecodingFailure) in try reader.timestamp() }
        event.attributes = try texts()
        event.data = try blob()
        return event
    }
}
