import DocumentModel

/// A node of a tree that types are decoded from: JSON, or a value of a document.
///
/// The machinery of `Decoder` is written once over this. It is an enum and no generic parameter, because what is
/// reached through `any Decoder` can't be specialized.
enum DecodingNode {
    case json(JSONValue)
    /// Indirect, so that the larger values of documents don't burden the decoding of calls.
    indirect case document(Value)

    /// Stands where there is nothing.
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

    /// What the node is, for errors: "a string".
    var kind: String {
        switch self {
        case .json(let value): value.kind
        case .document(let value): value.kind
        }
    }

    /// The value of a type that the tree holds in a form of its own, such as a date.
    func native<T>(_ type: T.Type, in context: DecodingContext) -> NativeDecoding<T> {
        switch self {
        case .json(let value): value.native(type, in: context)
        case .document(let value): value.native(type, in: context)
        }
    }
}

/// The parts of a node by position.
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

/// The parts of a node by name.
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

/// What decoding may need besides the node.
struct DecodingContext {
    /// Where decoded references live.
    var firestore: Firestore?
    /// The document whose fields are decoded; nil for a document without a place.
    var reference: DocumentReference?
    /// Whether the fields are those of a document.
    var isDocument: Bool

    static func json(_ firestore: Firestore?) -> DecodingContext {
        DecodingContext(firestore: firestore, reference: nil, isDocument: false)
    }

    static func document(_ reference: DocumentReference?) -> DecodingContext {
        DecodingContext(firestore: reference?.firestore, reference: reference, isDocument: true)
    }
}
