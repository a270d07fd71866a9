package import DocumentModel
package import StrictJSON

/// Stored documents in Firestore's JSON format.
extension RESTWriteReader {
    /// Reads a document from a service's response.
    package func stored(_ node: JSONNode) throws(JSONProblem) -> Document {
        guard let name = node["name"], let createTime = node["createTime"], let updateTime = node["updateTime"] else {
            throw node.problem("a document needs name, createTime and updateTime")
        }
        return Document(
            path: try path(name), fields: try node["fields"]?.fields() ?? [:], createTime: try createTime.timestamp(),
            updateTime: try updateTime.timestamp())
    }
}

extension JSONWriter {
    package mutating func document(_ document: Document, in database: DatabaseID) {
        raw("{\"name\":")
        name(document.path, in: database)
        raw(",\"fields\":")
        fields(document.fields)
        raw(",\"createTime\":")
        string(document.createTime.rfc3339)
        raw(",\"updateTime\":")
        string(document.updateTime.rfc3339)
        raw("}")
    }

    package mutating func name(_ path: DocumentPath, in database: DatabaseID) {
        string(DocumentName(database: database, path: path).description)
    }
}
