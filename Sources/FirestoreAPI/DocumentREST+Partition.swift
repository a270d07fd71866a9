import DocumentModel
import FirestoreJSON
import GoogleREST
import StrictJSON

/// Splits a query into parts that can be read in parallel.
extension DocumentREST {
    func partitionQuery(
        _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> JSONWriter {
        let parent = try path.parent()
        let request = try body.read { (root) throws(JSONProblem) in
            try partitionRequest(root, parent)
        }
        var points = try await service.partition(
            request.query, points: request.points, request.consistency, as: principal
        ).points
        if !request.pageToken.isEmpty {
            guard case .reference(let last)? = try RESTPageToken.values(request.pageToken).first else {
                throw .invalidArgument("pageToken: this is not the nextPageToken of an earlier response")
            }
            points.removeAll { DocumentPath.compare($0, last.path) != .descending }
        }
        let page = request.pageSize == 0 ? points[...] : points.prefix(request.pageSize)
        var text = JSONWriter()
        text.raw("{")
        if !page.isEmpty {
            text.raw("\"partitions\":")
            text.array(page) { text, path in
                text.raw("{\"values\":[")
                text.value(.reference(DocumentName(database: database, path: path)))
                text.raw("],\"before\":true}")
            }
        }
        if page.count < points.count, let last = page.last {
            text.raw(",\"nextPageToken\":")
            text.string(RESTPageToken.text([.reference(DocumentName(database: database, path: last))]))
        }
        text.raw("}")
        return text
    }

    private struct PartitionRequest {
        var query: Query
        var points: Int
        var pageSize = 0
        var pageToken = ""
        var consistency = ReadConsistency.strong
    }

    private func partitionRequest(_ root: JSONNode, _ parent: DocumentPath?) throws(JSONProblem) -> PartitionRequest {
        var request = PartitionRequest(query: Query(collectionID: ""), points: 0)
        for member in try root.members() {
            let node = member.value
            switch member.key {
            case "structuredQuery": request.query = try node.structuredQuery(parent: parent)
            case "partitionCount": request.points = Int(try node.integer())
            case "pageSize": request.pageSize = Int(try node.integer())
            case "pageToken": request.pageToken = try node.string()
            case "readTime": request.consistency = .at(try node.timestamp())
            case "parent": try checkParent(node, parent)
            default: throw member.unknown
            }
        }
        guard !request.query.collectionID.isEmpty else { throw root.problem("a request needs its structuredQuery") }
        guard request.points > 0 else { throw root.problem("partitionCount must be at least 1") }
        guard (0...Int(Int32.max)).contains(request.pageSize) else {
            throw root.problem("pageSize must be 0 … 2147483647")
        }
        return request
    }
}
