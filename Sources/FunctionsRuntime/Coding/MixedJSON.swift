import StrictJSON

/// Values of different types as JSON.
enum MixedJSON {
    /// - Parameter isRealtime: whether the values are for the Realtime Database.
    /// - Throws: `EncodingError` with the path of a value that can't be encoded.
    static func object(_ members: KeyValuePairs<String, Any?>, isRealtime: Bool = false) throws -> JSONValue {
        try object(members.map { ($0.key, $0.value) }, [], isRealtime)
    }

    private static func object(
        _ members: [(String, Any?)], _ path: [any CodingKey], _ isRealtime: Bool
    ) throws -> JSONValue {
        .object(
            JSONObject(
                try members.map { name, value in
                    (name, try self.value(value, path + [PathKey.name(name)], isRealtime))
                }))
    }

    private static func value(_ value: Any?, _ path: [any CodingKey], _ isRealtime: Bool) throws -> JSONValue {
        switch value {
        case nil: return .null
        case let value as JSONValue: return value
        case let value as String: return .string(value)
        case let value as Bool: return .bool(value)
        case let value as Int: return .integer(Int64(value))
        case let members as [String: Any]:
            // A dictionary has no order: by name, so that the same answer is the same text.
            return try object(members.sorted { $0.key < $1.key }, path, isRealtime)
        case let elements as [Any]:
            return .array(
                try elements.enumerated().map { try self.value($1, path + [PathKey.index($0)], isRealtime) })
        case let value as any OptionalValue: return try self.value(value.wrapped, path, isRealtime)
        case let value as any Encodable:
            let encoder = CallableEncoder(root: path.joinedPath, wrapsIntegers: false, isRealtime: isRealtime)
            return try JSONValue(parsing: try encoder.encode(value))
        case let value?:
            throw EncodingError.invalidValue(
                value, .init(codingPath: path, debugDescription: "a \(type(of: value)) isn't Encodable"))
        }
    }
}
