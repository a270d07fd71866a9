package import DocumentModel
package import GoogleREST
import TextFormats

extension RESTParameters {
    /// Nil if no parameter has this name.
    package func fieldPaths(_ name: String) throws(DocumentError) -> [FieldPath]? {
        let texts = all(name)
        guard !texts.isEmpty else { return nil }
        var paths: [FieldPath] = []
        for text in texts { paths.append(try FieldPath(rest: text)) }
        return paths
    }

    /// The fields to return, from `mask.fieldPaths`; nil for all.
    package func mask() throws(DocumentError) -> FieldMask? {
        guard let paths = try fieldPaths("mask.fieldPaths") else { return nil }
        for path in paths { try DocumentLimits.checkSize(of: path) }
        return FieldMask(paths)
    }

    /// The state to read, from `transaction` or `readTime`.
    package func consistency() throws(DocumentError) -> ReadConsistency {
        guard let text = self["transaction"] else {
            guard let text = self["readTime"] else { return .strong }
            guard let time = Timestamp(rfc3339: text) else {
                throw .invalidArgument("readTime: \"\(text)\" is not an RFC 3339 timestamp")
            }
            return .at(time)
        }
        guard self["readTime"] == nil else { throw .invalidArgument("transaction and readTime exclude each other") }
        guard let id = Base64.decodeAnyAlphabet(text).flatMap(TransactionID.init(restBytes:)) else {
            throw .invalidArgument("transaction: \"\(text)\" is not a transaction id")
        }
        return .transaction(id)
    }

    package func precondition() throws(DocumentError) -> Write.Precondition? {
        let exists = try boolean("currentDocument.exists")
        guard let text = self["currentDocument.updateTime"] else { return exists.map { .exists($0) } }
        guard exists == nil else {
            throw .invalidArgument("currentDocument: exists and updateTime exclude each other")
        }
        guard let time = Timestamp(rfc3339: text) else {
            throw .invalidArgument("currentDocument.updateTime: \"\(text)\" is not an RFC 3339 timestamp")
        }
        return .updateTime(time)
    }
}
