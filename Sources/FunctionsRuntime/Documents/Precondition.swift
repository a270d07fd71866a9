public import DocumentModel

/// What must be true of a document when it is changed or deleted; otherwise nothing of the write's commit is stored.
///
///     let item = try await reference.getDocument(as: Item.self)
///     …
///     try await reference.delete(precondition: .lastUpdateTime(item.updateTime))
///
/// A transaction reads and writes without one: it runs again if what it has read changes. A precondition is for a write
/// that rests on an earlier read, such as what a person has seen on a page.
public struct Precondition: Hashable, Sendable {
    private enum Kind: Hashable {
        case exists
        case lastUpdateTime(Timestamp)
    }

    private let kind: Kind

    /// The document exists; otherwise the write fails with `notFound`.
    public static let exists = Precondition(kind: .exists)

    /// The document was last changed at this time: the `updateTime` of a ``Document`` or ``DocumentSnapshot``, or what
    /// a write has returned. Otherwise, also if the document doesn't exist, the write fails with `failedPrecondition`.
    public static func lastUpdateTime(_ time: Timestamp) -> Precondition {
        Precondition(kind: .lastUpdateTime(time))
    }

    /// - Throws: `invalidArgument` if it is a time that no document can have.
    func model() throws(DocumentError) -> Write.Precondition {
        switch kind {
        case .exists: return .exists(true)
        case .lastUpdateTime(let time):
            guard time.isInRange else {
                throw .invalidArgument("a precondition's lastUpdateTime is not within years 1 to 9999")
            }
            return .updateTime(time)
        }
    }
}
