extension FunctionContext {
    /// The queue whose tasks the function of this name handles.
    public func taskQueue(_ name: String) -> TaskQueue { TaskQueue(name: name, firestore: firestore) }

    /// The channel for publishing events.
    public func eventChannel() -> EventChannel { EventChannel(firestore: firestore) }

    /// A topic for publishing messages.
    public func topic(_ name: String) -> Topic { Topic(name: name, firestore: firestore) }
}

extension FunctionInput {
    /// The queue whose tasks the function of this name handles.
    public func taskQueue(_ name: String) -> TaskQueue { context.taskQueue(name) }

    /// The channel for publishing events.
    public func eventChannel() -> EventChannel { context.eventChannel() }

    /// A topic for publishing messages.
    public func topic(_ name: String) -> Topic { context.topic(name) }
}
