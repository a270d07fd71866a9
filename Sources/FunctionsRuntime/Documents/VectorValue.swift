import DocumentModel

/// A vector of numbers, such as an embedding: a field's value that `findNearest` compares.
///
/// In documents, also as a property of a `Codable` type, it is Firestore's vector of 1 to 2,048 doubles. One with fewer
/// or more elements, or with NaN, is refused when it is used. Elsewhere it is encoded as on iOS, as an object with the
/// key `array`.
public struct VectorValue: Hashable, Sendable, Codable {
    public let array: [Double]

    public init(_ array: [Double]) { self.array = array }

    /// Numbers of another type, such as `Float`.
    public init(_ array: [some BinaryFloatingPoint]) { self.array = array.map { Double($0) } }

    /// Nil if the value isn't a vector.
    init?(stored value: Value) {
        guard let elements = value.vectorElements else { return nil }
        var array: [Double] = []
        array.reserveCapacity(elements.count)
        for element in elements {
            guard case .double(let number) = element else { return nil }
            array.append(number)
        }
        self.array = array
    }

    /// Why documents and searches refuse the vector; nil if they don't.
    var problem: DocumentError? {
        guard (1...DocumentLimits.maxVectorElements).contains(array.count) else {
            return .invalidArgument(
                "a vector has \(array.count) elements; it must have 1 to \(DocumentLimits.maxVectorElements)")
        }
        return array.firstIndex(where: \.isNaN).map { .invalidArgument("a vector's element \($0) is NaN") }
    }
}

extension VectorValue: FieldInput {
    public var fieldValue: FieldValue {
        if let problem { return FieldValue(content: .invalid(problem)) }
        return FieldValue(.vector(array))
    }
}

extension FieldValue {
    /// A vector for a field, of 1 to 2,048 numbers.
    public static func vector(_ array: [Double]) -> VectorValue { VectorValue(array) }

    /// A vector of numbers of another type, such as `Float`.
    public static func vector(_ array: [some BinaryFloatingPoint]) -> VectorValue { VectorValue(array) }
}
