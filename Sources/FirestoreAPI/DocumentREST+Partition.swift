import DocumentModel
import FirestoreJSON
import FirestoreMessages
import GoogleREST
import StrictJSON

/// Splits a query into parts that can be read in parallel.
extension DocumentREST {
    func partitionQuery(
        _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> JSONWriter {
        let parent = try path.parent()
        let request = try body.read(as: FSPartitionQueryRequest.self) { (root) throws(JSONProblem) in
            try partitionRequest(root, parent)
        }
        let (page, next) = try await DocumentPages(service: service, database: database).partitions(
            request, as: principal)
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
        if let next {
            text.raw(",\"nextPageToken\":")
            text.string(next)
        }
        text.raw("}")
        return text
    }

    private func partitionRequest(_ root: JSONNode, _ parent: DocumentPath?) throws(JSONProblem)
        -> DocumentPages.Partition
    {
        var request = DocumentPages.Partition()
        for member in try root.members() {
            let node = member.value
            switch member.key {
            case "structuredQuery": request.query = try node.structuredQuery(parent: parent)
            case "partitionCount": request.points = Int(try node.integer())
            case "pageSize": request.size = Int(try node.integer())
            case "pageToken": request.token = try node.string()
            case "readTime": request.consistency = .at(try node.timestamp())
            case "parent": try checkParent(node, parent)
            default: throw member.unknown
            }
        }
        guard !request.query.collectionID.isEmpty else { throw root.problem("a request needs its structuredQuery") }
        guard request.points > 0 else { throw root.problem("partitionCount must be at least 1") }
        guard (0...Int(Int32.max)).contains(request.size) else {
            throw root.problem("pageSize must be 0 … 2147483647")
        }
        return request
    }
}
