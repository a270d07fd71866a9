public import DocumentModel

/// What is written to a field: a value, or a change that the store computes when it commits.
public struct FieldValue: Sendable, Hashable {
    let content: Content

    indirect enum Content: Sendable, Hashable {
        case value(Value)
        case map([String: FieldValue])
        case array([FieldValue])
        case delete
        case transform(FieldTransform.Operation)
        /// What can't be written, kept until the write that wanted to.
        case invalid(DocumentError)
    }

    init(content: Content) { self.content = content }

    public init(_ value: Value) { content = .value(value) }

    /// The commit's time.
    public static func serverTimestamp() -> FieldValue { FieldValue(content: .transform(.serverTimestamp)) }

    /// Removes the field. For `updateData`, and for `setData` with `merge`.
    public static func delete() -> FieldValue { FieldValue(content: .delete) }

    /// Adds to what the field holds; what isn't a number counts as 0. Whole numbers stop at the bounds of Int64.
    public static func increment(_ amount: some BinaryInteger) -> FieldValue {
        number(amount) { .increment($0) }
    }

    /// Adds to what the field holds, which becomes a double.
    public static func increment(_ amount: Double) -> FieldValue {
        FieldValue(content: .transform(.increment(.double(amount))))
    }

    /// The larger of this and what the field holds.
    public static func maximum(_ bound: some BinaryInteger) -> FieldValue { number(bound) { .maximum($0) } }

    /// The larger of this and what the field holds.
    public static func maximum(_ bound: Double) -> FieldValue {
        FieldValue(content: .transform(.maximum(.double(bound))))
    }

    /// The smaller of this and what the field holds.
    public static func minimum(_ bound: some BinaryInteger) -> FieldValue { number(bound) { .minimum($0) } }

    /// The smaller of this and what the field holds.
    public static func minimum(_ bound: Double) -> FieldValue {
        FieldValue(content: .transform(.minimum(.double(bound))))
    }

    /// Appends those of the elements that the array in the field doesn't hold yet.
    public static func arrayUnion(_ elements: [any FieldInput]) -> FieldValue {
        list(elements) { .arrayUnion($0) }
    }

    /// Takes every occurrence of the elements out of the array in the field.
    public static func arrayRemove(_ elements: [any FieldInput]) -> FieldValue {
        list(elements) { .arrayRemove($0) }
    }

    private static func number(
        _ number: some BinaryInteger, _ transform: (Value) -> FieldTransform.Operation
    ) -> FieldValue {
        guard let number = Int64(exactly: number) else {
            return FieldValue(content: .invalid(.invalidArgument("\(number) doesn't fit 64 bits with a sign")))
        }
        return FieldValue(content: .transform(transform(.integer(number))))
    }

    private static func list(
        _ elements: [any FieldInput], _ transform: ([Value]) -> FieldTransform.Operation
    ) -> FieldValue {
        do {
            let field = FieldValue(content: .array(elements.map(\.fieldValue)))
            guard case .array(let values) = try field.plainValue() else { return field }
            return FieldValue(content: .transform(transform(values)))
        } catch {
            return FieldValue(content: .invalid(error))
        }
    }

    /// The value, where it doesn't depend on what the store holds.
    ///
    /// - Throws: `invalidArgument` where a part of it does.
    func plainValue() throws(DocumentError) -> Value {
        switch content {
        case .value(let value): return value
        case .map(let fields):
            var values: [String: Value] = [:]
            values.reserveCapacity(fields.count)
            for (key, field) in fields { values[key] = try field.plainValue() }
            return .map(values)
        case .array(let elements):
            var values: [Value] = []
            values.reserveCapacity(elements.count)
            for element in elements { values.append(try element.plainValue()) }
            return .array(values)
        case .delete: throw .misplaced("delete")
        case .transform(let operation): throw .misplaced(operation.authorName)
        case .invalid(let error): throw error
        }
    }
}

/// Written only through the document encoder: other formats have no such changes.
extension FieldValue: Encodable {
    public func encode(to encoder: any Encoder) throws {
        let reason = "a FieldValue is written to documents only"
        throw EncodingError.invalidValue(
            FieldValue.self, .init(codingPath: encoder.codingPath, debugDescription: reason))
    }
}

extension FieldTransform.Operation {
    /// The function of ``FieldValue`` that makes this.
    var authorName: String {
        switch self {
        case .serverTimestamp: "serverTimestamp"
        case .increment: "increment"
        case .maximum: "maximum"
        case .minimum: "minimum"
        case .arrayUnion: "arrayUnion"
        case .arrayRemove: "arrayRemove"
        }
    }
}

extension DocumentError {
    fileprivate static func misplaced(_ name: String) -> DocumentError {
        .invalidArgument(
            "FieldValue.\(name)() stands where a plain value belongs; it can't be inside an array or a query")
    }
}
