/// The kinds of document change that a trigger can select: the CloudEvents types without their common prefix.
package enum DocumentEventType: String, Codable, Hashable, Sendable {
    case created, updated, deleted, written

    /// Whether a commit that changed `before` into `after` is such a change. A document that doesn't exist is nil.
    package func includes(from before: Document?, to after: Document?) -> Bool {
        switch self {
        case .written: before != nil || after != nil
        case .created: before == nil && after != nil
        case .updated: before != nil && after != nil
        case .deleted: before != nil && after == nil
        }
    }
}
