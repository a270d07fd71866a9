/// An event as defined by CloudEvents 1.0.
public struct CloudEvent: Hashable, Sendable {
    /// Nil until the event is published, which assigns an id.
    public var id: String?
    /// For example `shop.order.paid`.
    public var type: String
    /// The origin of the event, as a URI reference.
    public var source: String
    public var subject: String?
    /// Nil until the event is published, which assigns the current time.
    public var time: Timestamp?
    /// The media type of the data, such as `application/json`.
    public var dataContentType: String?
    public var dataSchema: String?
    /// Extension attributes. Names consist of lower-case letters and digits.
    public var attributes: [String: String]
    public var data: [UInt8]

    public init(
        type: String, source: String, id: String? = nil, subject: String? = nil, time: Timestamp? = nil,
        dataContentType: String? = nil, dataSchema: String? = nil, attributes: [String: String] = [:],
        data: [UInt8] = []
    ) {
        self.type = type
        self.source = source
        self.id = id
        self.subject = subject
        self.time = time
        self.dataContentType = dataContentType
        self.dataSchema = dataSchema
        self.attributes = attributes
        self.data = data
    }

    /// The attributes by which events can be filtered, including extensions, under their CloudEvents names.
    package subscript(attribute name: String) -> String? {
        switch name {
        case "type": type
        case "source": source
        case "subject": subject
        case "id": id
        case "datacontenttype": dataContentType
        case "dataschema": dataSchema
        default: attributes[name]
        }
    }

    /// Whether this is a valid attribute name: lower-case letters and digits.
    package static func isAttributeName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) }
    }
    /// Whether this is a valid name for an extension: not one of the standard attributes.
    package static func isExtensionName(_ name: String) -> Bool { isAttributeName(name) && !ownNames.contains(name) }

    private static let ownNames: Set<String> = [
        "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data",
    ]
}
