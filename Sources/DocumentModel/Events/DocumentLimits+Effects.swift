extension DocumentLimits {
    /// The maximum number of tasks and events in one commit.
    package static let maxEffects = 1000
    /// The maximum size of a task's body with its headers, and of an event's data with its attributes.
    package static let maxEffectBytes = 1_048_576
    private static let maxTaskNameBytes = 500
    private static let dispatchDeadlines = 15...1800
    private static let maxDelaySeconds: Int64 = 30 * 86_400

    /// Checks the tasks and events of a commit.
    package static func check(_ effects: [Effect], at now: Timestamp) throws(DocumentError) {
        guard effects.count <= maxEffects else {
            throw .invalidArgument(
                "a commit has \(effects.count) tasks and events, more than 1,000, the limit; use several commits")
        }
        var size = 0
        for effect in effects {
            switch effect {
            case .enqueue(let task): size += try check(task, at: now)
            case .publish(let event): size += try check(event)
            case .deleteTask(let id, _): try check(taskName: id)
            }
        }
        guard size <= maxRequestBytes else {
            throw .invalidArgument("the tasks and events of a commit have \(size) bytes, more than 10 MiB, the limit")
        }
    }

    /// - Returns: The task's size.
    package static func check(_ task: TaskDraft, at now: Timestamp) throws(DocumentError) -> Int {
        if let name = task.name { try check(taskName: name) }
        if let time = task.scheduleTime { try check(scheduleTime: time, at: now) }
        if let deadline = task.dispatchDeadline { try check(dispatchDeadline: deadline) }
        let size = task.body.count + size(of: task.headers)
        guard size <= maxEffectBytes else {
            throw .invalidArgument(
                "a task of \(task.queue) has \(size) bytes, more than 1 MiB (1,048,576 bytes), the limit")
        }
        return size
    }

    package static func check(taskName name: String) throws(DocumentError) {
        guard (1...maxTaskNameBytes).contains(name.utf8.count), name.utf8.allSatisfy(isOfTaskName) else {
            throw .invalidArgument(
                "\"\(name.prefix(100))\" isn't a valid task name: it has 1 to 500 letters, digits, hyphens and underscores"
            )
        }
    }

    /// - Parameter time: When the task is due; a time in the past means immediately.
    package static func check(scheduleTime time: Timestamp, at now: Timestamp) throws(DocumentError) {
        guard time.isInRange else { throw .invalidArgument("a task's schedule time is not within the years 1 to 9999") }
        guard time.seconds - now.seconds <= maxDelaySeconds else {
            throw .invalidArgument("a task can't be scheduled for \(time), more than 30 days ahead, the limit")
        }
    }

    /// - Parameter seconds: The time limit of one attempt.
    package static func check(dispatchDeadline seconds: Int) throws(DocumentError) {
        guard dispatchDeadlines.contains(seconds) else {
            throw .invalidArgument("a task's dispatch deadline is \(seconds) s; it must be 15 s to 1800 s")
        }
    }

    /// - Returns: The event's size.
    package static func check(_ event: CloudEvent) throws(DocumentError) -> Int {
        guard !event.type.isEmpty, !event.source.isEmpty else {
            throw .invalidArgument("an event needs a type, such as shop.order.paid, and a source, such as /shop/orders")
        }
        for name in event.attributes.keys where !CloudEvent.isExtensionName(name) {
            throw .invalidArgument(
                "the event \(event.type) has an attribute \"\(name)\"; names consist of lower-case letters and digits, and "
                    + "must differ from the standard attributes")
        }
        guard event.time?.isInRange ?? true else {
            throw .invalidArgument("the event \(event.type) has a time that is not within the years 1 to 9999")
        }
        let texts = [event.id, event.type, event.source, event.subject, event.dataContentType, event.dataSchema]
        let size =
            event.data.count + size(of: event.attributes) + texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        guard size <= maxEffectBytes else {
            throw .invalidArgument(
                "the event \(event.type) has \(size) bytes, more than 1 MiB (1,048,576 bytes), the limit")
        }
        return size
    }

    private static func size(of texts: [String: String]) -> Int {
        texts.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }

    private static func isOfTaskName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
