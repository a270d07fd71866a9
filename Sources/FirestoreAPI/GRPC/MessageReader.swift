import DocumentModel
import FirestoreJSON
import FirestoreMessages
import SwiftProtobuf

/// Values and documents between protobuf and the model.
struct MessageReader {
    let database: DatabaseID

    func value(_ message: FSValue) throws(DocumentError) -> Value {
        switch message.valueType {
        case .nullValue?: return .null
        case .booleanValue(let value)?: return .boolean(value)
        case .integerValue(let value)?: return .integer(value)
        case .doubleValue(let value)?: return .double(value)
        case .timestampValue(let time)?: return .timestamp(try Self.timestamp(time))
        case .stringValue(let text)?: return .string(text)
        case .bytesValue(let bytes)?: return .bytes(Array(bytes))
        case .referenceValue(let name)?: return .reference(try DocumentName(name))
        case .geoPointValue(let point)?:
            let point = GeoPoint(latitude: point.latitude, longitude: point.longitude)
            guard point.isValid else {
                throw .invalidArgument("a geo point's latitude must be -90 … 90, its longitude -180 … 180")
            }
            return .geoPoint(point)
        case .arrayValue(let array)?: return .array(try values(array.values))
        case .mapValue(let map)?: return .map(try fields(map.fields))
        case nil: throw .invalidArgument("a value has no type")
        }
    }

    func values(_ messages: [FSValue]) throws(DocumentError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(messages.count)
        for message in messages { values.append(try value(message)) }
        return values
    }

    func fields(_ messages: [String: FSValue]) throws(DocumentError) -> [String: Value] {
        var fields: [String: Value] = [:]
        fields.reserveCapacity(messages.count)
        for (name, message) in messages { fields[name] = try value(message) }
        return fields
    }

    static func timestamp(_ message: Google_Protobuf_Timestamp) throws(DocumentError) -> Timestamp {
        let invalid = DocumentError.invalidArgument(
            "a timestamp is outside of the years 1 to 9999, or has invalid nanoseconds")
        guard (0..<1_000_000_000).contains(message.nanos) else { throw invalid }
        let time = Timestamp(seconds: message.seconds, nanoseconds: message.nanos)
        guard time.isInRange else { throw invalid }
        return time
    }

    /// The path of a document in this database.
    func path(_ text: String) throws(DocumentError) -> DocumentPath {
        let name = try DocumentName(text)
        guard name.database == database else {
            throw .invalidArgument("\"\(text)\" is not in this database, \(database.resourceName)")
        }
        return name.path
    }

    /// The paths of documents that a request gets, each once.
    func paths(_ names: [String]) throws(DocumentError) -> [DocumentPath] {
        var paths: [DocumentPath] = []
        paths.reserveCapacity(names.count)
        for name in names { paths.append(try path(name)) }
        return paths.withoutRepetitions
    }

    /// The document above a collection; nil for the root.
    func parent(_ text: String) throws(DocumentError) -> DocumentPath? {
        if text == database.documentsRoot { return nil }
        return try path(text)
    }

    /// - Parameters:
    ///   - name: the database that a request names.
    ///   - isOptional: whether it may be empty, as in later messages of a stream.
    func check(database name: String, isOptional: Bool = false) throws(DocumentError) {
        if isOptional && name.isEmpty { return }
        try database.check(name)
    }

    static func fieldPath(_ text: String) throws(DocumentError) -> FieldPath { try FieldPath(rest: text) }
}
