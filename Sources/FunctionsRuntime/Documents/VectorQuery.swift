public import DocumentModel

/// The documents of a query whose vectors are nearest to one, the nearest first.
///
/// Created by `findNearest` of a collection or query.
public struct VectorQuery: Sendable {
    /// How the distance of two vectors is measured.
    public enum DistanceMeasure: Hashable, Sendable, CaseIterable {
        case euclidean
        /// 1 − the cosine of the angle, from 0 to 2.
        case cosine
        /// The larger, the nearer.
        case dotProduct
    }

    /// The query among whose documents the nearest are found.
    public let query: Query
    /// A mistake is reported when the query is used.
    private let search: Result<VectorSearch, DocumentError>

    fileprivate init(_ query: Query, _ search: Result<VectorSearch, DocumentError>) {
        self.query = query
        self.search = search
    }

    /// Reads the nearest documents.
    ///
    /// - Throws: `invalidArgument` if an argument of the search is beyond its limits, or if the query has a limit, an
    ///   offset or a cursor.
    public func getDocuments() async throws(DocumentError) -> QuerySnapshot {
        let (model, search) = try resolved()
        return snapshot(of: try await query.firestore.transport.nearest(search, of: model))
    }

    /// Reads the nearest documents and decodes them as a `Codable` type.
    public func getDocuments<T: Decodable & Sendable>(as type: T.Type) async throws -> [Document<T>] {
        try await getDocuments().documents(as: type)
    }

    func resolved() throws(DocumentError) -> (model: DocumentModel.Query, search: VectorSearch) {
        let search = try search.get()
        let model = try query.resolved().model
        guard model.limit == nil else {
            throw .invalidArgument("findNearest can't follow limit(to:) or limit(toLast:); it has a limit of its own")
        }
        guard model.offset == 0 else { throw .invalidArgument("findNearest can't follow offset") }
        guard model.start == nil, model.end == nil else {
            throw .invalidArgument("findNearest can't follow a cursor; use distanceThreshold")
        }
        return (model, search)
    }

    func snapshot(of documents: [DocumentModel.Document]) -> QuerySnapshot {
        query.snapshot(of: documents, isReversed: false)
    }
}

extension Queryable {
    /// Finds the documents whose vectors are nearest to one, the nearest first.
    ///
    ///     let similar = try await items.whereField("shop", isEqualTo: "s1")
    ///         .findNearest(
    ///             vectorField: "embedding", queryVector: FieldValue.vector(embedding), limit: 10,
    ///             distanceMeasure: .cosine, distanceResultField: "distance")
    ///         .getDocuments()
    ///
    /// Every document of the query is compared with the vector, so that a filter makes it cheaper. The query has neither
    /// a limit, an offset nor a cursor. In Cloud Firestore, which a standalone bundle uses, the field needs a vector
    /// index.
    ///
    /// - Parameters:
    ///   - vectorField: The field with a document's vector. Documents without a vector of as many elements aren't found.
    ///   - queryVector: The vector that they are compared with, of 1 to 2,048 numbers.
    ///   - limit: The maximum number of documents, 1 to 1,000.
    ///   - distanceMeasure: How the distance is measured.
    ///   - distanceResultField: The name of a field that each result has with its distance. It replaces a document's own;
    ///     after `select`, it is one of the selected fields or isn't there.
    ///   - distanceThreshold: The maximum distance; with `dotProduct` the minimum. A finite number.
    public func findNearest(
        vectorField: some FieldPathConvertible, queryVector: VectorValue, limit: Int,
        distanceMeasure: VectorQuery.DistanceMeasure, distanceResultField: String? = nil,
        distanceThreshold: Double? = nil
    ) -> VectorQuery {
        let search = Result { () throws(DocumentError) -> VectorSearch in
            if let problem = queryVector.problem {
                throw .invalidArgument("findNearest.queryVector: \(problem.message)")
            }
            return try VectorSearch(
                field: try vectorPath(vectorField), vector: queryVector.array, measure: distanceMeasure.model,
                limit: limit, resultField: distanceResultField, threshold: distanceThreshold)
        }
        return VectorQuery(query, search)
    }

    /// Finds the documents whose vectors are nearest to an array of numbers, as to a ``VectorValue``.
    public func findNearest(
        vectorField: some FieldPathConvertible, queryVector: [Double], limit: Int,
        distanceMeasure: VectorQuery.DistanceMeasure, distanceResultField: String? = nil,
        distanceThreshold: Double? = nil
    ) -> VectorQuery {
        findNearest(
            vectorField: vectorField, queryVector: VectorValue(queryVector), limit: limit,
            distanceMeasure: distanceMeasure, distanceResultField: distanceResultField,
            distanceThreshold: distanceThreshold)
    }
}

private func vectorPath(_ field: some FieldPathConvertible) throws(DocumentError) -> FieldPath {
    do throws(DocumentError) {
        let path = try field.fieldPath()
        try DocumentLimits.check(path)
        return path
    } catch {
        throw .invalidArgument("findNearest.vectorField: \(error.message)")
    }
}

extension VectorQuery.DistanceMeasure {
    fileprivate var model: VectorSearch.Measure {
        switch self {
        case .euclidean: .euclidean
        case .cosine: .cosine
        case .dotProduct: .dotProduct
        }
    }
}
