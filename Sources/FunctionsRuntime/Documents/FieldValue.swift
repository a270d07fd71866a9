public import DocumentModel

/// A field's new value, or a transform that the store computes at the commit.
public struct FieldValue: Sendable, Hashable {
    let content: Content

    indirect enum Content: Sendable, Hashable {
        case value(Value)
        case map([String: FieldValue])
        case array([FieldValue])
        case delete
        case transform(FieldTransform.Operation)
        /// An invalid value; the error is thrown by the write that uses it.
        case invalid(DocumentError)
    }

    init(content: Content) { self.content = content }

    public init(_ value: Value) { content = .value(value) }

    /// The commit's time, in milliseconds.
    public static func serverTimestamp() -> FieldValue { FieldValue(content: .transform(.serverTimestamp)) }

    /// Deletes the field. For `updateData`, and for `setData` with `merge`.
    public static func delete() -> FieldValue { FieldValue(content: .delete) }

    /// Adds to the field's number; a value that isn't a number counts as 0. Integers saturate at Int64's bounds.
    public static func increment(_ amount: some BinaryInteger) -> FieldValue {
        number(amount) { .increment($0) }
    }

    /// Adds to the field's number, which becomes a double.
    public static func increment(_ amount: Double) -> FieldValue {
        FieldValue(content: .transform(.increment(.double(amount))))
    }

    /// The maximum of this number and the field's.
    public static func maximum(_ bound: some BinaryInteger) -> FieldValue { number(bound) { .maximum($0) } }

    /// The maximum of this number and the field's.
    public static func maximum(_ bound: Double) -> FieldValue {
        FieldValue(content: .transform(.maximum(.double(bound))))
    }

    /// The minimum of this number and the field's.
    public static func minimum(_ bound: some BinaryInteger) -> FieldValue { number(bound) { .minimum($0) } }

    /// The minimum of this number and the field's.
    public static func minimum(_ bound: Double) -> FieldValue {
        FieldValue(content: .transform(.minimum(.double(bound))))
    }

    /// Appends the elements that the field's array doesn't contain yet.
    public static func arrayUnion(_ elements: [Any?]) -> FieldValue {
        list(elements) { .arrayUnion($0) }
    }

    /// Removes all occurrences of the elements from the field's array.
    public static func arrayRemove(_ elements: [Any?]) -> FieldValue {
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
        _ elements: [Any?], _ transform: ([Value]) -> FieldTransform.Operation
    ) -> FieldValue {
        do {
            let field = FieldValue(content: .array(elements.map { FieldValue(any: $0) }))
            guard case .array(let values) = try field.plainValue() else { return field }
            return FieldValue(content: .transform(transform(values)))
        } catch {
            return FieldValue(content: .invalid(error))
        }
    }

    /// The value at a path through maps; nil if there is none.
    subscript(path: ArraySlice<String>) -> FieldValue? {
        guard let name = path.first else { return self }
        switch content {
        case .map(let fields): return fields[name]?[path.dropFirst()]
        case .value(.map(let fields)): return fields[name].flatMap { FieldValue($0)[path.dropFirst()] }
        case .value, .array, .delete, .transform, .invalid: return nil
        }
    }

    /// The value, if it doesn't depend on the store's state.
    ///
    /// - Throws: `invalidArgument` if a part of it does.
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

/// Only the document encoder supports this type: other formats have no transforms.
extension FieldValue: Encodable {
    public func encode(to encoder: any Encoder) throws {
        let reason = "a FieldValue can be encoded only in documents"
        throw EncodingError.invalidValue(
            FieldValue.self, .init(codingPath: encoder.codingPath, debugDescription: reason))
    }
}

extension FieldTransform.Operation {
    /// The static method of ``FieldValue`` that creates this.
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
            "FieldValue.\(name)() is used where a plain value is required; it can't be inside an array or a query")
    }
}
