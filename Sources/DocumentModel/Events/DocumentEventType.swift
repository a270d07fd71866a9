/// The changes of documents that a trigger is for: the CloudEvents types of them, less their common prefix.
package enum DocumentEventType: String, Codable, Hashable, Sendable {
    case created, updated, deleted, written

    /// Whether a commit that made of a document another is such a change; nil where there is none.
    package func includes(from before: Document?, to after: Document?) -> Bool {
        switch self {
        case .written: before != nil || after != nil
        case .created: before == nil && after != nil
        case .updated: before != nil && after != nil
        case .deleted: before != nil && after == nil
        }
    }
}
