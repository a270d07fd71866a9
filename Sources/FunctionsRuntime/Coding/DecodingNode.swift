import DocumentModel
import StrictJSON

/// A node of the tree that types are decoded from: JSON, or a document's value.
///
/// `Decoder` is implemented once for both. This is an enum, not a generic parameter, because code behind `any Decoder`
/// can't be specialized.
enum DecodingNode {
    case json(JSONValue)
    /// Indirect, so that the larger values of documents don't slow down the decoding of calls.
    indirect case document(Value)

    /// A missing node.
    static let missing = DecodingNode.json(.null)

    var isNull: Bool {
        switch self {
        case .json(.null), .document(.null): true
        default: false
        }
    }

    var bool: Bool? {
        switch self {
        case .json(.bool(let value)), .document(.boolean(let value)): value
        default: nil
        }
    }

    var number: CodedNumber? {
        switch self {
        case .json(let value): value.codedNumber
        case .document(let value): value.codedNumber
        }
    }

    var string: String? {
        switch self {
        case .json(.string(let value)), .document(.string(let value)): value
        default: nil
        }
    }

    var elements: NodeElements? {
        switch self {
        case .json(.array(let elements)): .json(elements)
        case .document(.array(let elements)): .document(elements)
        default: nil
        }
    }

    var fields: NodeFields? {
        switch self {
        case .json(.object(let object)): .json(object)
        case .document(.map(let fields)): .document(fields)
        default: nil
        }
    }

    /// The elements of an array that aren't null, by their numbers.
    var numberedFields: NodeFields? {
        guard case .json(.array(let elements)) = self else { return nil }
        return .json(
            JSONObject(elements.enumerated().filter { $0.element != .null }.map { (String($0.offset), $0.element) }))
    }

    /// The node's type, for errors: "a string".
    var kind: String {
        switch self {
        case .json(let value): value.kind
        case .document(let value): value.kind
        }
    }

    /// The value of a type that the tree represents natively, such as a date.
    func native<T>(_ type: T.Type, in context: DecodingContext) -> NativeDecoding<T> {
        switch self {
        case .json(let value): value.native(type, in: context)
        case .document(let value): value.native(type, in: context)
        }
    }
}

/// The children of a node by position.
enum NodeElements {
    case json([JSONValue])
    case document([Value])

    var count: Int {
        switch self {
        case .json(let elements): elements.count
        case .document(let elements): elements.count
        }
    }

    subscript(index: Int) -> DecodingNode {
        switch self {
        case .json(let elements): .json(elements[index])
        case .document(let elements): .document(elements[index])
        }
    }
}

/// The children of a node by name.
enum NodeFields {
    case json(JSONObject)
    case document([String: Value])

    var keys: [String] {
        switch self {
        case .json(let object): object.keys
        case .document(let fields): Array(fields.keys)
        }
    }

    subscript(key: String) -> DecodingNode? {
        switch self {
        case .json(let object): object[key].map { .json($0) }
        case .document(let fields): fields[key].map { .document($0) }
        }
    }
}

/// The context that decoding may need in addition to the node.
struct DecodingContext {
    /// The database of decoded references.
    var firestore: Firestore?
    /// The document whose fields are decoded; nil if it has no reference.
    var reference: DocumentReference?
    /// Whether the fields belong to a document.
    var isDocument: Bool
    /// Whether the node is the Realtime Database's: a dictionary may be an array there, and an empty one isn't there.
    var isRealtime = false

    static func json(_ firestore: Firestore?) -> DecodingContext {
        DecodingContext(firestore: firestore, reference: nil, isDocument: false)
    }

    static var realtime: DecodingContext {
        DecodingContext(firestore: nil, reference: nil, isDocument: false, isRealtime: true)
    }

    static func document(_ reference: DocumentReference?) -> DecodingContext {
        DecodingContext(firestore: reference?.firestore, reference: reference, isDocument: true)
    }
}
