import DocumentModel
import StrictJSON

/// Field transforms in Firestore's JSON format.
extension RESTWriteReader {
    func legacyTransform(_ node: JSONNode) throws(JSONProblem) -> (DocumentPath, [FieldTransform]) {
        var path: DocumentPath?
        var transforms: [FieldTransform] = []
        for member in try node.members() {
            switch member.key {
            case "document": path = try self.path(member.value)
            case "fieldTransforms": transforms = try self.transforms(member.value)
            default: throw member.unknown
            }
        }
        guard let path else { throw node.problem("a transform needs document") }
        guard !transforms.isEmpty else { throw node.problem("a transform needs fieldTransforms") }
        return (path, transforms)
    }

    func transforms(_ node: JSONNode) throws(JSONProblem) -> [FieldTransform] {
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
                    throw JSONProblem(
                        offset: member.offset, message: "a transform has only one operation; this is the second")
                }
            }
            guard let field, let operation else {
                throw element.problem("a transform needs fieldPath and an operation")
            }
            transforms.append(FieldTransform(field, operation))
        }
        return transforms
    }

    private func operation(_ member: JSONNode.Member) throws(JSONProblem) -> FieldTransform.Operation {
        switch member.key {
        case "setToServerValue":
            guard try member.value.choice(["SERVER_VALUE_UNSPECIFIED", "REQUEST_TIME"]) == "REQUEST_TIME" else {
                throw member.value.problem("\(member.value.summary) is not REQUEST_TIME, the only server value")
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
    fileprivate func number() throws(JSONProblem) -> Value {
        let value = try value()
        switch value {
        case .integer, .double: return value
        default: throw problem("the operand must be an integerValue or a doubleValue")
        }
    }
}

extension JSONWriter {
    mutating func transform(_ transform: FieldTransform) {
        raw("{\"fieldPath\":")
        string(transform.field.description)
        switch transform.operation {
        case .serverTimestamp: raw(",\"setToServerValue\":\"REQUEST_TIME\"")
        case .increment(let number):
            raw(",\"increment\":")
            value(number)
        case .maximum(let number):
            raw(",\"maximum\":")
            value(number)
        case .minimum(let number):
            raw(",\"minimum\":")
            value(number)
        case .arrayUnion(let values):
            raw(",\"appendMissingElements\":")
            arrayValue(values)
        case .arrayRemove(let values):
            raw(",\"removeAllFromArray\":")
            arrayValue(values)
        }
        raw("}")
    }
}
