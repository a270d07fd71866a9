import DocumentModel

/// Reads the `Write` messages of a commit.
struct RESTWriteReader {
    let database: DatabaseID

    func writes(_ node: JSONNode) throws(JSONProblem) -> [Write] {
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
                throw JSONProblem(offset: member.offset, message: "a write does one thing; this is its second")
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
                // An update without fields leaves the document as it is, but for its transforms.
                operation = .update([:], mask: [])
            case "updateMask": mask = try member.value.fieldMask()
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

    /// A document's name in this database, as a path.
    func path(_ node: JSONNode) throws(JSONProblem) -> DocumentPath {
        let name = try node.documentName()
        guard name.database == database else {
            throw node.problem("\(node.summary) is not in this database, \(database.resourceName)")
        }
        return name.path
    }

    /// The `Document` message of a write; times in it are the server's to set and are left unread.
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
        guard let path else { throw node.problem("a document of a write needs its name") }
        return (path, fields)
    }

    private func legacyTransform(_ node: JSONNode) throws(JSONProblem) -> (DocumentPath, [FieldTransform]) {
        var path: DocumentPath?
        var transforms: [FieldTransform] = []
        for member in try node.members() {
            switch member.key {
            case "document": path = try self.path(member.value)
            case "fieldTransforms": transforms = try self.transforms(member.value)
            default: throw member.unknown
            }
        }
        guard let path else { throw node.problem("a transform needs its document") }
        guard !transforms.isEmpty else { throw node.problem("a transform needs its fieldTransforms") }
        return (path, transforms)
    }

    private func transforms(_ node: JSONNode) throws(JSONProblem) -> [FieldTransform] {
        var transforms: [FieldTransform] = []
        for element in try node.elements() {
            var field: FieldPath?
            var operation: FieldTransform.Operation?
            for member in try element.members() {
                if member.key == "fieldPath" {
                    field = try member.value.fieldPath()
                } else if operation == nil {
                    operation = try self.operation(member)
                } else {
                    throw JSONProblem(offset: member.offset, message: "a transform does one thing; this is its second")
                }
            }
            guard let field, let operation else {
                throw element.problem("a transform needs its fieldPath and what to do")
            }
            transforms.append(FieldTransform(field, operation))
        }
        return transforms
    }

    private func operation(_ member: JSONNode.Member) throws(JSONProblem) -> FieldTransform.Operation {
        switch member.key {
        case "setToServerValue":
            guard case .string("REQUEST_TIME") = member.value.kind else {
                throw member.value.problem("\(member.value.summary) is not REQUEST_TIME, the one server value")
            }
            return .serverTimestamp
        case "increment": return .increment(try member.value.number())
        case "maximum": return .maximum(try member.value.number())
        case "minimum": return .minimum(try member.value.number())
        case "appendMissingElements": return .arrayUnion(try member.value.arrayValue())
        case "removeAllFromArray": return .arrayRemove(try member.value.arrayValue())
        default: throw member.unknown
        }
    }
}

extension JSONNode {
    /// Reads `{"fieldPaths": […]}`.
    func fieldMask() throws(JSONProblem) -> [FieldPath] {
        var paths: [FieldPath] = []
        for member in try members() {
            guard member.key == "fieldPaths" else { throw member.unknown }
            for element in try member.value.elements() { paths.append(try element.fieldPath()) }
        }
        return paths
    }

    /// Reads `{"exists": …}` or `{"updateTime": …}`; nil where it is empty.
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

    fileprivate func number() throws(JSONProblem) -> Value {
        let value = try value()
        switch value {
        case .integer, .double: return value
        default: throw problem("the operand must be an integerValue or a doubleValue")
        }
    }
}
