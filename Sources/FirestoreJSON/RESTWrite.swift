package import DocumentModel
package import StrictJSON

/// Reads the `Write` messages of a commit; ``JSONWriter/write(_:in:)`` writes them.
package struct RESTWriteReader {
    package let database: DatabaseID

    package init(database: DatabaseID) {
        self.database = database
    }

    package func writes(_ node: JSONNode) throws(JSONProblem) -> [Write] {
        var writes: [Write] = []
        for element in try node.elements() { writes.append(try write(element)) }
        return writes
    }

    func write(_ node: JSONNode) throws(JSONProblem) -> Write {
        var path: DocumentPath?
        var operation: Write.Operation?
        var mask: [FieldPath]?
        var transforms: [FieldTransform] = []
        var precondition: Write.Precondition?
        for member in try node.members() {
            let isOperation = ["update", "delete", "verify", "transform"].contains(member.key)
            if isOperation, operation != nil {
                throw JSONProblem(offset: member.offset, message: "a write has only one operation; this is the second")
            }
            switch member.key {
            case "update":
                let document = try document(member.value)
                path = document.path
                operation = .set(document.fields)
            case "delete":
                path = try self.path(member.value)
                operation = .delete
            case "verify":
                path = try self.path(member.value)
                operation = .verify
            case "transform":
                (path, transforms) = try legacyTransform(member.value)
                // An update without fields leaves the document unchanged, except for its transforms.
                operation = .update([:], mask: [])
            case "updateMask": mask = try member.value.fieldPaths()
            case "updateTransforms": transforms = try self.transforms(member.value)
            case "currentDocument": precondition = try member.value.precondition()
            default: throw member.unknown
            }
        }
        guard let path, var operation else {
            throw node.problem("a write needs one of update, delete, verify and transform")
        }
        if let mask {
            guard case .set(let fields) = operation else { throw node.problem("only an update has an updateMask") }
            operation = .update(fields, mask: mask)
        }
        return Write(path: path, operation: operation, transforms: transforms, precondition: precondition)
    }

    /// Reads the name of a document in this database as a path.
    package func path(_ node: JSONNode) throws(JSONProblem) -> DocumentPath {
        let name = try node.documentName()
        guard name.database == database else {
            throw node.problem("\(node.summary) is not in this database, \(database.resourceName)")
        }
        return name.path
    }

    /// Reads the `Document` message of a write. Its times are ignored, because the server sets them.
    private func document(_ node: JSONNode) throws(JSONProblem) -> (path: DocumentPath, fields: [String: Value]) {
        var path: DocumentPath?
        var fields: [String: Value] = [:]
        for member in try node.members() {
            switch member.key {
            case "name": path = try self.path(member.value)
            case "fields": fields = try member.value.fields()
            case "createTime", "updateTime": _ = try member.value.timestamp()
            default: throw member.unknown
            }
        }
        guard let path else { throw node.problem("a document in a write needs a name") }
        return (path, fields)
    }
}

extension JSONNode {
    /// Reads `{"fieldPaths": […]}`.
    package func fieldPaths() throws(JSONProblem) -> [FieldPath] {
        var paths: [FieldPath] = []
        try forEachFieldPath { paths.append($0) }
        return paths
    }

    /// Reads `{"fieldPaths": […]}`, one after the other: freeing very many paths at once takes some ms.
    package func fieldMask() throws(JSONProblem) -> FieldMask {
        var mask = FieldMask()
        try forEachFieldPath { mask.insert($0) }
        return mask
    }

    private func forEachFieldPath(_ body: (FieldPath) -> Void) throws(JSONProblem) {
        for member in try members() {
            guard member.key == "fieldPaths" else { throw member.unknown }
            let elements = try member.value.elements()
            let limit = DocumentLimits.maxMaskPaths
            guard elements.count <= limit else {
                throw member.value.problem("a mask has at most \(limit) paths, not \(elements.count)")
            }
            for element in elements { body(try element.fieldPath()) }
        }
    }

    /// Reads `{"exists": …}` or `{"updateTime": …}`; nil if it is empty.
    func precondition() throws(JSONProblem) -> Write.Precondition? {
        var precondition: Write.Precondition?
        for member in try members() {
            guard precondition == nil else {
                throw JSONProblem(offset: member.offset, message: "exists and updateTime exclude each other")
            }
            switch member.key {
            case "exists": precondition = .exists(try member.value.boolean())
            case "updateTime": precondition = .updateTime(try member.value.timestamp())
            default: throw member.unknown
            }
        }
        return precondition
    }
}

extension JSONWriter {
    package mutating func write(_ write: Write, in database: DatabaseID) {
        raw("{")
        switch write.operation {
        case .set(let fields): update(write.path, fields, in: database)
        case .update(let fields, let mask):
            update(write.path, fields, in: database)
            raw(",\"updateMask\":{\"fieldPaths\":")
            array(mask) { $0.string($1.description) }
            raw("}")
        case .delete:
            raw("\"delete\":")
            name(write.path, in: database)
        case .verify:
            raw("\"verify\":")
            name(write.path, in: database)
        }
        if !write.transforms.isEmpty {
            raw(",\"updateTransforms\":")
            array(write.transforms) { $0.transform($1) }
        }
        switch write.precondition {
        case .exists(let exists):
            exists ? raw(",\"currentDocument\":{\"exists\":true}") : raw(",\"currentDocument\":{\"exists\":false}")
        case .updateTime(let time):
            raw(",\"currentDocument\":{\"updateTime\":")
            string(time.rfc3339)
            raw("}")
        case nil: break
        }
        raw("}")
    }

    private mutating func update(_ path: DocumentPath, _ fields: [String: Value], in database: DatabaseID) {
        raw("\"update\":{\"name\":")
        name(path, in: database)
        raw(",\"fields\":")
        self.fields(fields)
        raw("}")
    }
}
