/// The kinds of change that a trigger can select, of a document or of a node of the Realtime Database: the CloudEvents types
/// without their common prefix.
package enum ChangeEventType: String, Codable, Hashable, Sendable {
    case created, updated, deleted, written

    /// Whether a commit that changed `before` into `after` is such a change. What doesn't exist is nil.
    package func includes<State>(from before: State?, to after: State?) -> Bool {
        includes(existedBefore: before != nil, existsAfter: after != nil)
    }

    package func includes(existedBefore: Bool, existsAfter: Bool) -> Bool {
        switch self {
        case .written: existedBefore || existsAfter
        case .created: !existedBefore && existsAfter
        case .updated: existedBefore && existsAfter
        case .deleted: existedBefore && !existsAfter
        }
    }
}
