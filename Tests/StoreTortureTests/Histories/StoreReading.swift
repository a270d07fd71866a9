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
            let page = try await self.query(query).documents
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

    /// What each commit after a position changed, by its time, and the position to go on from.
    func changes(after position: Timestamp) async throws -> ([Timestamp: [DocumentChange]], Timestamp) {
        var changes: [Timestamp: [DocumentChange]] = [:]
        var position = position
        var last = position
        while true {
            let page = try await commits(after: position, atMostBytes: 500_000)
            for commit in page.commits {
                guard commit.time > last else {
                    throw HistoryReplay.Anomaly(description: "the feed has \(commit.time) after \(last)")
                }
                last = commit.time
                changes[commit.time] = commit.changes
            }
            position = page.position
            if page.isLast { return (changes, position) }
        }
    }

    /// - Throws: If the store finds a fault in itself once all indexes are built.
    func isSound() async throws {
        try await indexesAreDone()
        var problems: [String] = []
        let result = try check {
            problems.append($0)
        } progress: { _ in
        }
        guard result.problems == 0, problems.isEmpty, !result.skippedIndexes else {
            throw HistoryReplay.Anomaly(description: "the check finds \(result): \(problems.prefix(5))")
        }
    }

    /// All that the workload works on.
    func workedOn() async throws -> [Document] {
        var documents = try await all(Query(collectionID: "bookings", allDescendants: true))
        for collection in ["accounts", "people", "counters", "audits", "gates", "notes"] {
            documents += try await all(Query(collectionID: collection))
        }
        return documents
    }
}
