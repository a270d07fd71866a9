import DocumentModel
import FirestoreJSON
import FirestoreMessages
import GoogleREST
import StrictJSON

/// Reads by name and by query. Over gRPC these stream their results; here they respond with a JSON array.
extension DocumentREST {
    func batchGet(_ body: RESTBody, _ principal: Principal) async throws(DocumentError) -> StreamedAnswer {
        let (paths, mask, selector) = try body.read(as: FSBatchGetDocumentsRequest.self) {
            (root) throws(JSONProblem) in
            var paths: [DocumentPath] = []
            var mask: FieldMask?
            var selector = RESTConsistencySelector.strong
            for member in try root.members() {
                if try selector.read(member) { continue }
                switch member.key {
                case "documents":
                    let reader = RESTWriteReader(database: database)
                    for element in try member.value.elements() { paths.append(try reader.path(element)) }
                case "mask": mask = try member.value.fieldMask()
                case "database": try checkDatabase(member.value)
                default: throw member.unknown
                }
            }
            return (paths.withoutRepetitions, mask, selector)
        }
        return try await reading(selector, principal) { [database] (consistency) throws(DocumentError) in
            let found = try await service.get(paths, consistency, as: principal)
            return StreamedAnswer.Elements(count: paths.count) { [paths, mask] index, text in
                if let document = found.documents[index] {
                    text.raw("{\"found\":")
                    text.document(document.masked(by: mask), in: database)
                } else {
                    text.raw("{\"missing\":")
                    text.string(DocumentName(database: database, path: paths[index]).description)
                }
                text.readTime(found.readTime)
            }
        }
    }

    func runQuery(
        _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> StreamedAnswer {
        let parent = try path.parent()
        let (search, selector, explains) = try body.read(as: FSRunQueryRequest.self) { (root) throws(JSONProblem) in
            var search: (query: Query, nearest: VectorSearch?)?
            var selector = RESTConsistencySelector.strong
            var explains: RESTExplainOptions?
            for member in try root.members() {
                if try selector.read(member) { continue }
                switch member.key {
                case "structuredQuery": search = try member.value.structuredSearch(parent: parent)
                case "explainOptions": explains = try member.value.explainOptions()
                case "parent": try checkParent(member.value, parent)
                default: throw member.unknown
                }
            }
            guard let search else { throw root.problem("a request needs its structuredQuery") }
            return (search, selector, explains)
        }
        try database.check(search.query)
        return try await reading(selector, principal) { [database] (consistency) throws(DocumentError) in
            let found = try await service.find(
                search.query, search.nearest, analyze: explains?.analyze, consistency, as: principal)
            if explains?.analyze == false, let explanation = found.explanation {
                return StreamedAnswer.Elements.none.followed { $0.explainElement(explanation, isAggregation: false) }
            }
            let skipped = search.nearest == nil ? search.query.offset : 0
            return StreamedAnswer.Elements(found, skipped: skipped, in: database)
        }
    }
}

extension StreamedAnswer.Elements {
    /// One element per document; without documents, one element that has the read time. The last element also has the
    /// explanation, if there is one, and the first document how many the query's offset has skipped.
    fileprivate init(_ found: FoundDocuments, skipped: Int, in database: DatabaseID) {
        let count = max(found.documents.count, 1)
        self.init(count: count) { index, text in
            text.raw("{")
            if index < found.documents.count {
                text.raw("\"document\":")
                text.document(found.documents[index], in: database)
                text.raw(",")
            }
            if index == count - 1, let explanation = found.explanation {
                text.explainMetrics(explanation, isAggregation: false)
                text.raw(",")
            }
            text.raw("\"readTime\":")
            text.string(found.readTime.rfc3339)
            if index == 0, skipped > 0, !found.documents.isEmpty {
                text.raw(",\"skippedResults\":")
                text.integer(skipped)
            }
            text.raw("}")
        }
    }
}
