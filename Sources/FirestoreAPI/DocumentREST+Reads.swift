import DocumentModel
import FirestoreJSON
import GoogleREST
import StrictJSON

/// Reads by name and by query. Over gRPC these stream their results; here they respond with a JSON array.
extension DocumentREST {
    func batchGet(_ body: RESTBody, _ principal: Principal) async throws(DocumentError) -> JSONWriter {
        let (paths, mask, selector) = try body.read { (root) throws(JSONProblem) in
            var paths: [DocumentPath] = []
            var mask: [FieldPath]?
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
            return (paths, mask, selector)
        }
        return try await reading(selector, principal) { (consistency, text) throws(DocumentError) in
            let found = try await service.get(paths, consistency, as: principal)
            for (path, document) in zip(paths, found.documents) {
                text.element()
                if let document {
                    text.raw("{\"found\":")
                    text.document(document.masked(by: mask), in: database)
                } else {
                    text.raw("{\"missing\":")
                    text.string(DocumentName(database: database, path: path).description)
                }
                text.readTime(found.readTime)
            }
        }
    }

    func runQuery(
        _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> JSONWriter {
        let parent = try path.parent()
        let (query, selector, explains) = try body.read { (root) throws(JSONProblem) in
            var query: Query?
            var selector = RESTConsistencySelector.strong
            var explains: RESTExplainOptions?
            for member in try root.members() {
                if try selector.read(member) { continue }
                switch member.key {
                case "structuredQuery": query = try member.value.structuredQuery(parent: parent)
                case "explainOptions": explains = try member.value.explainOptions()
                case "parent": try checkParent(member.value, parent)
                default: throw member.unknown
                }
            }
            guard let query else { throw root.problem("a request needs its structuredQuery") }
            return (query, selector, explains)
        }
        try check(query)
        return try await reading(selector, principal) { (consistency, text) throws(DocumentError) in
            guard let explains else {
                let found = try await service.query(query, consistency, as: principal)
                return text.results(found.documents, at: found.readTime, in: database)
            }
            let explained = try await service.explain(
                query, [], analyze: explains.analyze, consistency, as: principal)
            if explains.analyze { text.results(explained.documents, at: explained.readTime, in: database) }
            text.element()
            text.explainMetrics(explained.explanation, isAggregation: false)
        }
    }
}

extension JSONWriter {
    /// Writes one element per document; if there are none, one element with the read time alone.
    fileprivate mutating func results(_ documents: [Document], at readTime: Timestamp, in database: DatabaseID) {
        for document in documents {
            element()
            raw("{\"document\":")
            self.document(document, in: database)
            self.readTime(readTime)
        }
        if documents.isEmpty {
            element()
            raw("{\"readTime\":")
            string(readTime.rfc3339)
            raw("}")
        }
    }
}
