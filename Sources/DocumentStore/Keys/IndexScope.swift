import StorageEngine
import DocumentModel

/// The parts of the keys of a collection's fields, and of a group's documents: those in collections of an id that are
/// below a document. For a group, the index holds only the documents, not their fields.
enum IndexScope {
    /// The common start of the keys of a field's values.
    static func prefix(ofCollection path: String, field: FieldPath, ofElements: Bool) -> [UInt8] {
        var key: [UInt8] = [ofElements ? 3 : 1]
        key += DocumentKeys.prefix(ofCollection: path)
        for segment in field.segments { KeyBytes.append(segment.utf8, to: &key) }
        key.append(0)
        return key
    }

    /// The common start of the keys of a group's documents.
    static func groupPrefix(_ id: String) -> [UInt8] {
        var key: [UInt8] = [5]
        KeyBytes.append(id.utf8, to: &key)
        return key
    }

    /// The keys of all groups' documents.
    static let groups = KeyRange(prefix: [5])

    /// The document that a key of a group's documents names; nil if the key isn't one.
    static func groupPath(of key: [UInt8]) -> String? {
        guard key.first == 5, let end = key.firstIndex(of: 0) else { return nil }
        return DocumentKeys.text(of: key[(end + 1)...])
    }

    /// The document as it is written at the end of a collection's keys.
    static func suffix(of path: DocumentPath) -> [UInt8] {
        var key: [UInt8] = []
        DocumentKeys.appendOpen(path.id, to: &key)
        return key
    }
}
