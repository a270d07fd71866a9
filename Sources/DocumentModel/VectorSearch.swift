/// A search among a query's results for the documents whose vectors are nearest to one: the API's `findNearest`.
package struct VectorSearch: Hashable, Sendable {
    /// How the distance of two vectors is measured.
    package enum Measure: String, Hashable, Sendable, CaseIterable {
        case euclidean = "EUCLIDEAN"
        /// 1 − the cosine of the angle; NaN if one of the vectors has no length.
        case cosine = "COSINE"
        /// The larger, the nearer.
        case dotProduct = "DOT_PRODUCT"
    }

    /// Documents without a vector of the same number of elements in this field aren't in the result.
    package let field: FieldPath
    package let vector: [Double]
    package let measure: Measure
    package let limit: Int
    /// The name of the field of each result that contains its distance; nil for none. It replaces one of the document's.
    package let resultField: String?
    /// The greatest distance of a result; the least with ``Measure/dotProduct``.
    package let threshold: Double?

    package static let maxLimit = 1000

    /// - Throws: `invalidArgument` that says what is wrong, in the API's names.
    package init(
        field: FieldPath, vector: Value, measure: Measure, limit: Int, resultField: String?, threshold: Double?
    ) throws(DocumentError) {
        guard let elements = vector.vectorElements else {
            throw .invalidArgument(
                "findNearest.queryVector must be a vector, a map of __type__ and value, not of the type \(vector.valueClass)"
            )
        }
        var numbers: [Double] = []
        for element in elements {
            guard case .double(let number) = element else {
                throw .invalidArgument(
                    "findNearest.queryVector contains a value of the type \(element.valueClass); all must be doubles")
            }
            numbers.append(number)
        }
        try self.init(
            field: field, vector: numbers, measure: measure, limit: limit, resultField: resultField,
            threshold: threshold)
    }

    /// - Throws: `invalidArgument` that says what is wrong, in the API's names.
    package init(
        field: FieldPath, vector: [Double], measure: Measure, limit: Int, resultField: String?, threshold: Double?
    ) throws(DocumentError) {
        guard (1...DocumentLimits.maxVectorElements).contains(vector.count) else {
            throw .invalidArgument(
                "findNearest.queryVector has \(vector.count) elements; it must have 1 to "
                    + "\(DocumentLimits.maxVectorElements)")
        }
        guard (1...Self.maxLimit).contains(limit) else {
            throw .invalidArgument("findNearest.limit must be 1 to \(Self.maxLimit), not \(limit)")
        }
        if let threshold, !threshold.isFinite {
            throw .invalidArgument("findNearest.distanceThreshold must be a finite number, not \(threshold)")
        }
        do throws(DocumentError) {
            if let resultField { try DocumentLimits.checkFieldName(resultField) }
        } catch {
            throw .invalidArgument("findNearest.distanceResultField: \(error.message)")
        }
        (self.field, self.vector, self.measure) = (field, vector, measure)
        (self.limit, self.resultField, self.threshold) = (limit, resultField, threshold)
    }

    /// The distance of a document; nil if it has no vector of this number of elements.
    package func distance(of document: Document) -> Double? {
        guard let elements = document[field]?.vectorElements, elements.count == vector.count else { return nil }
        var (sum, own, other) = (0.0, 0.0, 0.0)
        for (index, element) in elements.enumerated() {
            guard case .double(let number) = element else { return nil }
            let wanted = vector[index]
            switch measure {
            case .euclidean: sum += (number - wanted) * (number - wanted)
            case .dotProduct: sum += number * wanted
            case .cosine:
                sum += number * wanted
                own += number * number
                other += wanted * wanted
            }
        }
        switch measure {
        case .euclidean: return sum.squareRoot()
        case .dotProduct: return sum
        case .cosine:
            // Of the same vector twice, the root of the product is exact, so that the distance is 0.
            let product = own * other
            return 1 - sum / (product.isNormal ? product.squareRoot() : own.squareRoot() * other.squareRoot())
        }
    }

    /// Whether a distance is within the threshold.
    package func isWithin(_ distance: Double) -> Bool {
        guard let threshold else { return true }
        return measure == .dotProduct ? distance >= threshold : distance <= threshold
    }

    /// Whether a document with this distance comes before one with another. Distances that aren't numbers come last.
    package func precedes(_ a: Double, _ b: Double) -> Bool {
        if a.isNaN || b.isNaN { return !a.isNaN }
        return measure == .dotProduct ? a > b : a < b
    }

    /// The document as the result contains it, before fields are selected.
    package func marked(_ document: Document, distance: Double) -> Document {
        guard let resultField else { return document }
        var document = document
        document.fields[resultField] = .double(distance)
        return document
    }
}
