public import DocumentModel

/// An event that somebody published, its data decoded into the author's type.
///
/// - Parameter Payload: what the event's JSON is read as; `[UInt8]` for the bytes as they are.
public struct CustomEvent<Payload: Sendable>: FunctionInput {
    public let data: Payload
    /// The event as it was published.
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

    /// The event's own id, the same over all tries: the publisher's, else one it was given. Another event may have the
    /// same one, of another source or of a publisher that sends it twice; ``deliveryID`` is unique.
    public var id: String { cloudEvent.id ?? received.id }
    /// The same over all tries, and unique for the function. Later events have greater ones.
    public var deliveryID: String { received.id }
    /// When it happened, as the publisher says; else when it was published.
    public var time: Timestamp { cloudEvent.time ?? received.event.time }
    /// Such as `shop.order.paid`.
    public var type: String { cloudEvent.type }
    /// Where it happened, as a URI reference.
    public var source: String { cloudEvent.source }
    public var subject: String? { cloudEvent.subject }
    /// Extension attributes.
    public var attributes: [String: String] { cloudEvent.attributes }
    /// Who published it.
    public var auth: EventAuth { received.event.auth }
    /// Which try this is: 1 the first time.
    public var attempt: Int { received.attempt }
}

extension CloudEvent {
    /// An event whose data is a value of one's own, as JSON.
    ///
    /// - Parameters:
    ///   - type: such as `shop.order.paid`.
    ///   - source: where it happened, as a URI reference: `//shop.example/orders`.
    ///   - attributes: extension attributes, by which functions can choose: names of lower-case letters and digits.
    /// - Throws: `EncodingError` where the value can't be written as JSON.
    public init(
        type: String, source: String, id: String? = nil, subject: String? = nil, time: Timestamp? = nil,
        attributes: [String: String] = [:], json value: some Encodable
    ) throws {
        self.init(
            type: type, source: source, id: id, subject: subject, time: time, dataContentType: "application/json",
            attributes: attributes, data: try CallableEncoder(root: "data").encode(value))
    }

    /// The data read as JSON. No data is null.
    ///
    /// - Throws: `DecodingError`, with the path to what is wrong.
    public func json<Payload: Decodable>(as type: Payload.Type = Payload.self) throws -> Payload {
        try json(as: type, firestore: nil)
    }

    func json<Payload: Decodable>(as type: Payload.Type, firestore: Firestore?) throws -> Payload {
        try CallableDecoder(root: "data", firestore: firestore).decode(
            type, from: data.isEmpty ? Array("null".utf8) : data)
    }
}
