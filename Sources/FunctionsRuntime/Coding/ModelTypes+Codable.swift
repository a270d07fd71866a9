public import DocumentModel
import StrictJSON

/// Encoded as an RFC 3339 string, except in documents, which have a native timestamp.
extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let timestamp = Timestamp(rfc3339: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected an RFC 3339 time")
        }
        self = timestamp
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rfc3339)
    }
}

/// Encoded as an object with two numbers, except in documents, which have a native geo point.
extension GeoPoint: Codable {
    private enum CodingKeys: CodingKey { case latitude, longitude }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            latitude: try container.decode(Double.self, forKey: .latitude),
            longitude: try container.decode(Double.self, forKey: .longitude))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(latitude, forKey: .latitude)
        try container.encode(longitude, forKey: .longitude)
    }
}

/// Encoded as JSON, so that `snapshot.data()` can be answered: times in RFC 3339, bytes in base64, references as paths. In
/// documents it is stored as it is.
extension Value: Encodable {
    public func encode(to encoder: any Encoder) throws { try JSONValue(self).encode(to: encoder) }
}
