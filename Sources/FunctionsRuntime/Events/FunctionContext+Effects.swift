extension FunctionContext {
    /// The queue that a function of this name takes tasks from.
    public func taskQueue(_ name: String) -> TaskQueue { TaskQueue(name: name, firestore: firestore) }

    /// Where events are published.
    public func eventChannel() -> EventChannel { EventChannel(firestore: firestore) }

    /// A topic, where messages are published.
    public func topic(_ name: String) -> Topic { Topic(name: name, firestore: firestore) }
}

extension FunctionInput {
    /// The queue that a function of this name takes tasks from.
    public func taskQueue(_ name: String) -> TaskQueue { context.taskQueue(name) }

    /// Where events are published.
    public func eventChannel() -> EventChannel { context.eventChannel() }

    /// A topic, where messages are published.
    public func topic(_ name: String) -> Topic { context.topic(name) }
}
