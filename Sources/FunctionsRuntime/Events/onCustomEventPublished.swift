import DocumentModel
import FunctionManifest

/// Runs when an event of a type is published, by a function or over HTTP.
///
///     onCustomEventPublished("thank", type: "shop.order.paid") { (event: CustomEvent<PaidOrder>) in … }
///
/// - Parameters:
///   - name: matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - type: the event's type.
///   - filters: attributes and extensions that an event must have, with exactly these values: `["source": "//shop"]`.
///   - options: What differs from the bundle's defaults.
///   - handler: Runs at least once for every matching event. If it throws, the attempt has failed; see
///     ``FunctionOption/retry(_:)``. If the data doesn't decode, the handler doesn't run, and the event is a
///     dead letter.
public func onCustomEventPublished<Payload: Decodable & Sendable>(
    _ name: String, type: String, filters: [String: String] = [:], _ options: EventOption...,
    handler: @escaping @Sendable (CustomEvent<Payload>) async throws -> Void
) -> Function {
    listener(name, type, filters, options, EventHandler(typed(), handler))
}

/// Runs when an event of a type is published. The handler's writes and the event's end are one commit.
public func onCustomEventPublished<Payload: Decodable & Sendable>(
    _ name: String, type: String, filters: [String: String] = [:], _ options: EventOption...,
    handler: @escaping @Sendable (CustomEvent<Payload>, Transaction) async throws -> Void
) -> Function {
    listener(name, type, filters, options, EventHandler(typed(), handler))
}

/// Runs when an event of a type is published, and receives its data unchanged.
public func onCustomEventPublished(
    _ name: String, type: String, filters: [String: String] = [:], _ options: EventOption...,
    handler: @escaping @Sendable (CustomEvent<[UInt8]>) async throws -> Void
) -> Function {
    listener(name, type, filters, options, EventHandler(raw, handler))
}

/// Runs when an event of a type is published, and receives its data unchanged. The handler's writes and the event's end
/// are one commit.
public func onCustomEventPublished(
    _ name: String, type: String, filters: [String: String] = [:], _ options: EventOption...,
    handler: @escaping @Sendable (CustomEvent<[UInt8]>, Transaction) async throws -> Void
) -> Function {
    listener(name, type, filters, options, EventHandler(raw, handler))
}

/// Runs when a message is published to a topic.
///
///     onMessagePublished("restock", topic: "stock") { event in
///         let order = try event.data.message.json(as: Restock.self)
///     }
///
/// - Parameters:
///   - topic: starts with a letter; 3 to 255 letters, digits and `-._~+%`.
///   - options: What differs from the bundle's defaults.
///   - name: Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - handler: Runs at least once for every message.
public func onMessagePublished(
    _ name: String, topic: String, _ options: EventOption...,
    handler: @escaping @Sendable (MessageEvent) async throws -> Void
) -> Function {
    listener(
        name, PubSubMessage.eventType, topicFilter(topic), options, EventHandler({ try MessageEvent($0) }, handler))
}

/// Runs when a message is published to a topic. The handler's writes and the message's end are one commit.
public func onMessagePublished(
    _ name: String, topic: String, _ options: EventOption...,
    handler: @escaping @Sendable (MessageEvent, Transaction) async throws -> Void
) -> Function {
    listener(
        name, PubSubMessage.eventType, topicFilter(topic), options, EventHandler({ try MessageEvent($0) }, handler))
}

private func typed<Payload: Decodable & Sendable>() -> @Sendable (ReceivedEvent) throws -> CustomEvent<Payload> {
    { received in
        try CustomEvent(received) { event, firestore in try event.json(as: Payload.self, firestore: firestore) }
    }
}

@Sendable private func raw(_ received: ReceivedEvent) throws -> CustomEvent<[UInt8]> {
    try CustomEvent(received) { event, _ in event.data }
}

private func topicFilter(_ topic: String) -> [String: String] { [PubSubMessage.topicAttribute: topic] }

private func listener(
    _ name: String, _ type: String, _ filters: [String: String], _ options: [EventOption], _ handler: EventHandler
) -> Function {
    Function(name, options) { options in
        (.event(.init(eventType: type, filters: filters, retry: options.retry?.ofEvents)), .event(handler))
    }
}
