import DocumentModel
import DocumentStore
import StrictJSON

extension ConfigurationReader {
    func line(of offset: Int) -> Int { JSONPosition(of: offset, in: bytes).line }

    mutating func list(_ node: JSONNode, _ what: String) -> [JSONNode]? {
        guard case .array(let elements) = node.kind else {
            report("\(node.summary) is not a list of \(what); write [ … ]", at: node.offset)
            return nil
        }
        return elements
    }

    mutating func boolean(_ node: JSONNode) -> Bool? {
        guard case .boolean(let value) = node.kind else {
            report("\(node.summary) is neither true nor false", at: node.offset)
            return nil
        }
        return value
    }

    mutating func required(
        _ key: String, of object: [String: JSONNode], _ node: JSONNode, _ what: String
    ) -> JSONNode? {
        if let value = object[key] { return value }
        report("\"\(key)\" is missing; write \(what)", at: node.offset)
        return nil
    }

    mutating func collectionID(_ node: JSONNode) -> String? {
        guard let id = string(node) else { return nil }
        guard (try? CollectionPath(id)) != nil, !id.utf8.contains(UInt8(ascii: "/")) else {
            report(
                "\(node.summary) is not a collection ID; write the last part of its path, such as orders for "
                    + "users/ada/orders", at: node.offset)
            return nil
        }
        return id
    }

    mutating func fieldPath(_ node: JSONNode) -> FieldPath? {
        guard let text = string(node) else { return nil }
        let path: FieldPath
        do {
            path = try FieldPath(text)
            if path.isDocumentID { return path }
            for segment in path.segments { try DocumentLimits.checkFieldName(segment) }
        } catch {
            report(
                "\(node.summary) is not a field path: \(error.message); write names separated by dots, and put "
                    + "names with special characters in backticks", at: node.offset)
            return nil
        }
        do {
            // Documents can't have such a field, so the index would stay empty.
            for segment in path.segments { try FieldNames.check(segment) }
            return path
        } catch {
            report("\(node.summary) is not a field path: \(error.message)", at: node.offset)
            return nil
        }
    }

    /// Checks the options that newer tools write and that only other kinds of database interpret.
    mutating func checkForeignOptions(_ object: [String: JSONNode]) {
        let usual = [("density", "SPARSE_ALL"), ("apiScope", "ANY_API")]
        for (key, value) in usual {
            guard let node = object[key], let text = string(node), text != value else { continue }
            report(
                "\(node.summary) is an option of other kinds of database; "
                    + "write \"\(value)\" or omit it", at: node.offset)
        }
        for key in ["multikey", "unique"] {
            guard let node = object[key], boolean(node) == true else { continue }
            report("\(node.summary) is an option of other kinds of database; write false or omit it", at: node.offset)
        }
    }
}
