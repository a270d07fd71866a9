import DocumentModel
import StrictJSON

/// A node of the tree that types are encoded into, before it becomes JSON or a document's fields.
///
/// `Encoder` is implemented once for both. This is an enum, not a generic parameter, because code behind `any Encoder`
/// can't be specialized.
enum EncodedNode {
    /// A leaf value, or a value that already was JSON.
    case json(JSONValue)
    case array([EncodedNode])
    case map(KeyedList<EncodedNode>)
    /// A value that only documents have. Indirect, so that it doesn't slow down the encoding of calls.
    indirect case field(FieldValue)

    static let null = EncodedNode.json(.null)

    /// Whether the Realtime Database keeps nothing of it.
    var isNothing: Bool {
        switch self {
        case .json(let value): value == .null
        case .array(let elements): elements.allSatisfy(\.isNothing)
        case .map(let fields): fields.entries.allSatisfy { $0.value.isNothing }
        case .field: false
        }
    }
}

/// The format that an encoder's tree is converted to.
enum EncodedForm {
    case json
    /// JSON for the Realtime Database.
    case realtime
    case document

    var isJSON: Bool { self != .document }

    /// The node of a type that the format represents natively, such as a date.
    func native<T>(_ value: T) -> NativeEncoding {
        if T.self == String.self, let text = value as? String { return .node(.json(.string(text))) }
        if T.self == Int.self, let number = value as? Int { return .node(.json(.integer(Int64(number)))) }
        switch self {
        case .json, .realtime: return JSONValue.native(value)
        case .document: return FieldValue.native(value)
        }
    }
}

enum NativeEncoding {
    /// The format has no native representation, so the type encodes itself.
    case foreign
    case node(EncodedNode)
    /// The value can't be represented.
    case failure(String)

    static func json(_ value: JSONValue) -> NativeEncoding { .node(.json(value)) }
    static func field(_ value: FieldValue) -> NativeEncoding { .node(.field(value)) }
}
