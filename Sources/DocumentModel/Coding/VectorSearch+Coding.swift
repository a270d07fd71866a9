extension ByteWriter {
    package mutating func write(_ search: VectorSearch) {
        write(search.field)
        write(search.vector) { $0.write($1) }
        write(byte: search.measure.code)
        write(count: search.limit)
        write(optional: search.resultField) { $0.write($1) }
        write(optional: search.threshold) { $0.write($1) }
    }
}

extension ByteReader {
    package mutating func vectorSearch() throws(DecodingFailure) -> VectorSearch {
        let field = try fieldPath()
        let vector = try list { reader throws(DecodingFailure) in try reader.double() }
        guard let measure = VectorSearch.Measure(code: try byte()) else {
            throw DecodingFailure("a vector search has an unknown measure of distance")
        }
        let limit = try size()
        let resultField = try optional { reader throws(DecodingFailure) in try reader.string() }
        let threshold = try optional { reader throws(DecodingFailure) in try reader.double() }
        do throws(DocumentError) {
            return try VectorSearch(
                field: field, vector: vector, measure: measure, limit: limit, resultField: resultField,
                threshold: threshold)
        } catch {
            throw .beyondLimit(error.message)
        }
    }
}

extension VectorSearch.Measure {
    fileprivate var code: UInt8 {
        switch self {
        case .euclidean: 1
        case .cosine: 2
        case .dotProduct: 3
        }
    }

    fileprivate init?(code: UInt8) {
        guard let measure = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = measure
    }
}
