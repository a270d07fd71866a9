import DocumentModel
import FirestoreJSON
import FirestoreMessages
import GoogleREST
import StrictJSON

/// The methods on a single document or collection.
extension DocumentREST {
    func get(_ path: RESTPath, _ query: String?, _ principal: Principal) async throws(DocumentError) -> JSONWriter {
        let parameters = try RESTParameters(query, known: ["mask.fieldPaths", "transaction", "readTime"])
        let document = try path.document()
        let mask = try parameters.mask()
        let found = try await service.get([document], try parameters.consistency(), as: principal).documents
        guard let first = found.first, let first else {
            let name = DocumentName(database: database, path: document)
            throw DocumentError(.notFound, "Document \"\(name)\" not found.")
        }
        return text(first.masked(by: mask))
    }

    func create(
        _ path: RESTPath, _ query: String?, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> JSONWriter {
        let parameters = try RESTParameters(query, known: ["documentId", "mask.fieldPaths"])
        let mask = try parameters.mask()
        let collection = try path.collection()
        let id = parameters["documentId"] ?? ""
        guard !id.contains("/") else { throw .invalidArgument("documentId: a document id must not contain a slash") }
        let document = try collection.document(id.isEmpty ? AutomaticID.make() : id)
        let fields = try self.fields(body, of: nil)
        return text(try await service.create(document, fields, as: principal).masked(by: mask))
    }

    func update(
        _ path: RESTPath, _ query: String?, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> JSONWriter {
        let parameters = try RESTParameters(
            query,
            known: [
                "updateMask.fieldPaths", "mask.fieldPaths", "currentDocument.exists", "currentDocument.updateTime",
            ])
        let document = try path.document()
        let mask = try parameters.mask()
        let fields = try self.fields(body, of: document)
        let operation: Write.Operation =
            if let updateMask = try parameters.fieldPaths("updateMask.fieldPaths") {
                .update(fields, mask: updateMask)
            } else {
                .set(fields)
            }
        let write = Write(path: document, operation: operation, precondition: try parameters.precondition())
        try ClientCall.current?.hold([write])
        let result = try await service.commit([write], transaction: nil, as: principal)
        return text(await service.document(after: write, result, as: principal).masked(by: mask))
    }

    func delete(_ path: RESTPath, _ query: String?, _ principal: Principal) async throws(DocumentError) -> JSONWriter {
        let parameters = try RESTParameters(query, known: ["currentDocument.exists", "currentDocument.updateTime"])
        let write = Write(
            path: try path.document(), operation: .delete, precondition: try parameters.precondition())
        _ = try await service.commit([write], transaction: nil, as: principal)
        return .emptyObject
    }

    /// Reads the fields of a `Document` message. If it has a name, that must be the one in the URL.
    private func fields(_ body: RESTBody, of document: DocumentPath?) throws(DocumentError) -> [String: Value] {
        try body.read(as: FSDocument.self) { (root) throws(JSONProblem) in
            var fields: [String: Value] = [:]
            for member in try root.members() {
                switch member.key {
                case "fields": fields = try member.value.fields()
                case "createTime", "updateTime": _ = try member.value.timestamp()
                case "name":
                    if let document {
                        guard try RESTWriteReader(database: database).path(member.value) == document else {
                            throw member.value.problem("the name differs from the one in the URL")
                        }
                    } else if try !member.value.string().isEmpty {
                        throw member.value.problem("omit the name; the URL and documentId name a new document")
                    }
                default: throw member.unknown
                }
            }
            return fields
        }
    }

    private func text(_ document: Document) -> JSONWriter {
        var text = JSONWriter()
        text.document(document, in: database)
        return text
    }
}

extension Document {
    /// Returns only the fields that the mask names; all of them if the mask is nil.
    func masked(by mask: FieldMask?) -> Document {
        guard let mask else { return self }
        var document = self
        document.fields = mask.applied(to: fields)
        return document
    }
}
