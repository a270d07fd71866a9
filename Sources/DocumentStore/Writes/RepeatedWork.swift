import DocumentModel

/// Bounds what one commit computes again and again: an update of a document that the commit has already written handles
/// all of its fields, and another transform of an array all that is in it. Everything else is bounded by the size of the
/// request and of the documents.
struct RepeatedWork {
    private static let minBytesPerElement = 8

    private let limit: Int
    private var left: Int

    init(_ configuration: StoreConfiguration, isClient: Bool) {
        limit = isClient ? configuration.maxClientRepeatedBytes : configuration.maxRepeatedBytes
        left = limit
    }

    /// Adds the fields of a document that is updated again.
    mutating func add(_ fields: [String: Value]) { left -= DocumentLimits.size(of: fields) }

    /// Adds an array that is transformed again, whose elements are compared as a whole; other values count nothing.
    mutating func add(_ value: Value?) {
        guard case .array(let elements) = value else { return }
        for element in elements { left -= max(DocumentLimits.size(of: element), Self.minBytesPerElement) }
    }

    /// Why the commit is refused; nil within the limit.
    var refusal: DocumentError? {
        guard left < 0 else { return nil }
        return DocumentError.invalidArgument(
            "a commit may handle \(limit) bytes of documents and arrays again that it has already changed, the limit; "
                + "write each document once, with one transform for each array")
    }
}
