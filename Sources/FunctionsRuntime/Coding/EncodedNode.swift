import DocumentModel

/// A node of the tree that types are encoded into, on its way to JSON or to the fields of a document.
///
/// The machinery of `Encoder` is written once over this. It is an enum and no generic parameter, because what is
/// reached through `any Encoder` can't be specialized.
enum EncodedNode {
    /// A value without parts, or JSON that was JSON before.
    case json(JSONValue)
    case array([EncodedNode])
    case map(KeyedList<EncodedNode>)
    /// What only documents hold. Indirect, so that it doesn't burden the encoding of calls.
    indirect case field(FieldValue)

    static let null = EncodedNode.json(.null)
}

/// What an encoder's tree becomes.
enum EncodedForm {
    case json
    case document

    /// The node of a type that the form itself knows, such as a date.
    func native<T>(_ value: T) -> NativeEncoding {
        if T.self == String.self, let text = value as? String { return .node(.json(.string(text))) }
        if T.self == Int.self, let number = value as? Int { return .node(.json(.integer(Int64(number)))) }
        switch self {
        case .json: return JSONValue.native(value)
        case .document: return FieldValue.native(value)
        }
    }
}

enum NativeEncoding {
    /// The form doesn't know the type, which encodes itself.
    case foreign
    case node(EncodedNode)
    /// The value has no form.
    case failure(String)

    static func json(_ value: JSONValue) -> NativeEncoding { .node(.json(value)) }
    static func field(_ value: FieldValue) -> NativeEncoding { .node(.field(value)) }
}
