public import DocumentModel

/// A custom event, with its data decoded as the author's type.
///
/// - Parameter Payload: The type to decode the event's JSON as; `[UInt8]` for the unchanged bytes.
public struct CustomEvent<Payload: Sendable>: FunctionInput {
    public let data: Payload
    /// The event as published.
    public let cloudEvent: CloudEvent
    private let received: ReceivedEvent

    init(_ received: ReceivedEvent, _ read: (CloudEvent, Firestore) throws -> Payload) throws {
        guard case .custom(var event) = received.event.content else { throw received.unexpected("custom events") }
        event.id = event.id ?? received.id
        event.time = event.time ?? received.event.time
        cloudEvent = event
        data = try read(event, received.context.firestore)
        self.received = received
    }

    public var context: FunctionContext { received.context }

    /// The event's own id, the same for all attempts: the publisher's, or a generated one. Another event may have the
    /// same id, from another source or from a publisher that sends it twice; ``deliveryID`` is unique.
    public var id: String { cloudEvent.id ?? received.id }
    /// The same for all attempts, and unique for the function. Later events have greater ids.
    public var deliveryID: String { received.id }
    /// When the event happened, according to the publisher; otherwise when it was published.
    public var time: Timestamp { cloudEvent.time ?? received.event.time }
    /// For example `shop.order.paid`.
    public var type: String { cloudEvent.type }
    /// The origin of the event, as a URI reference.
    public var source: String { cloudEvent.source }
    public var subject: String? { cloudEvent.subject }
    /// Extension attributes.
    public var attributes: [String: String] { cloudEvent.attributes }
    /// Who published it.
    public var auth: EventAuth { received.event.auth }
    /// The number of this attempt, starting with 1.
    public var attempt: Int { received.attempt }
}

extension CloudEvent {
    /// An event with a JSON-encoded value as its data. Integers are numbers whatever their size.
    ///
    /// - Parameters:
    ///   - type: For example `shop.order.paid`.
    ///   - source: The origin of the event, as a URI reference: `//shop.example/orders`.
    ///   - attributes: Extension attributes, which functions can filter by. Names consist of lower-case letters and
    ///     digits.
    /// - Throws: `EncodingError` if the value can't be encoded as JSON.
    public init(
        type: String, source: String, id: String? = nil, subject: String? = nil, time: Timestamp? = nil,
        attributes: [String: String] = [:], json value: some Encodable
    ) throws {
        self.init(
            type: type, source: source, id: id, subject: subject, time: time, dataContentType: "application/json",
            attributes: attributes, data: try CallableEncoder(root: "data", wrapsIntegers: false).encode(value))
    }

    /// Decodes the data from JSON. Missing data is null.
    ///
    /// - Throws: `DecodingError`, with the path to the error.
    public func json<Payload: Decodable>(as type: Payload.Type = Payload.self) throws -> Payload {
        try json(as: type, firestore: nil)
    }

    func json<Payload: Decodable>(as type: Payload.Type, firestore: Firestore?) throws -> Payload {
        try CallableDecoder(root: "data", firestore: firestore).decode(
            type, from: data.isEmpty ? Array("null".utf8) : data)
    }
}
