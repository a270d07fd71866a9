import DocumentModel
import DocumentStore
import StoreTorture

extension DocumentStore {
    /// All documents of a query, page by page.
    func all(_ query: Query) async throws -> [Document] {
        var query = query
        query.limit = 300
        var found: [Document] = []
        while true {
            let response = await perform(.query(query, .strong))
            guard case .results(let page, _) = response else { throw HistoryReplay.Anomaly(description: "\(response)") }
            found += page
            guard let last = page.last, page.count == 300 else { return found }
            let name = DocumentName(database: DatabaseID(project: "demo"), path: last.path)
            query.start = Query.Cursor(values: [.reference(name)], before: false)
            query.orderBy = [Query.Order(.documentID)]
        }
    }

    /// The records whose names start with a run's name.
    func records(of run: String) async throws -> [Document] {
        var query = Query(collectionID: HistoryRecord.collection)
        query.filter = .and([
            .field(.documentID, .greaterThanOrEqual, .string(run + "-")),
            .field(.documentID, .lessThan, .string(run + ".")),
        ])
        return try await all(query)
    }

    /// All that the workload works on.
    func workedOn() async throws -> [Document] {
        var documents = try await all(Query(collectionID: "bookings", allDescendants: true))
        for collection in ["accounts", "people", "counters", "audits"] {
            documents += try await all(Query(collectionID: collection))
        }
        return documents
    }
}
