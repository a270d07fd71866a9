import DocumentModel
import StrictJSON
import TextFormats

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JSONValue {
    var codedNumber: CodedNumber? {
        switch self {
        case .integer(let value): .integer(value)
        case .unsigned(let value): .unsigned(value)
        case .double(let value): .double(value)
        default: nil
        }
    }

    /// What this is, for errors.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .unsigned: "an integer"
        case .double: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The value of a type that JSON holds in a form of its own.
    func native<T>(_ type: T.Type, in context: DecodingContext) -> NativeDecoding<T> {
        if type == JSONValue.self { return .required(self, "JSON") }
        if type == Timestamp.self { return .required(timestamp, "an RFC 3339 time") }
        if type == Date.self { return .required(timestamp?.dateValue(), "an RFC 3339 time") }
        if type == Data.self {
            return .required(stringValue.flatMap { Base64.decode($0) }.map { Data($0) }, "a string in base64")
        }
        if type == URL.self { return .required(stringValue.flatMap { URL(string: $0) }, "a URL") }
        if type == Decimal.self {
            // As the type encodes itself, which earlier versions have stored and sent.
            if case .object = self { return .foreign }
            return .decimal(codedNumber)
        }
        if type == DocumentReference.self {
            guard let firestore = context.firestore else {
                return .mismatch(expected: "no document reference, without a database here")
            }
            return .required(stringValue.flatMap { firestore.reference(named: $0) }, "the path of a document")
        }
        return .foreign
    }

    private var timestamp: Timestamp? { stringValue.flatMap { Timestamp(rfc3339: $0) } }
}
