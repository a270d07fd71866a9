import CommitPipeline
import DocumentModel

extension ChangeLog.Key {
    /// The path of the changed document.
    func path() throws(DecodingFailure) -> DocumentPath {
        do { return try DocumentPath(DocumentKeys.path(of: Array(recordKey))) } catch {
            throw DecodingFailure(error.message)
        }
    }
}

extension ChangeLog {
    static func change(_ key: Key, _ value: [UInt8]) throws(DecodingFailure) -> DocumentChange {
        let path = try key.path()
        let (before, after) = try images(value)
        var change = DocumentChange(path: path, before: nil, after: nil)
        if let before { change.before = try StoredDocument.decode(before, path: path) }
        if let after { change.after = try StoredDocument.decode(after, path: path) }
        return change
    }
}
