/// Decides what a user may do. Asked before anything is answered or applied.
package protocol AccessPolicy: Sendable {
    /// Called on the store's threads, so it must neither block nor take long.
    ///
    /// - Parameter view: the same for all parts of one operation.
    /// - Throws: `DocumentError(.permissionDenied)` to refuse; the client gets the error as it is.
    ///   ``DecisionTooCostly`` if deciding takes more than the view lets it spend.
    func check(_ access: Access, in view: AccessView) throws
}

/// One thing a user wants to do with a document or a collection.
package enum Access: Hashable, Sendable {
    case get(DocumentPath, Document?)
    case list(Query)
    /// A changed document in the result of a query whose decision depended on it, see ``AccessView/dependsOnResult``.
    case listed(Document, by: Query)
    /// `over` is the document that exists although the write requires that none does. The commit is refused then, and
    /// the policy decides whether the client learns why.
    case create(Document, over: Document? = nil)
    /// `from` is nil if the document doesn't exist although the write requires it. The commit is refused then, and the
    /// policy decides whether the client learns why.
    case update(from: Document?, to: Document)
    case delete(DocumentPath, Document?)
}

/// The store as a policy sees it while it decides on one operation, and what it has cost so far.
package final class AccessView {
    /// The time of the operation; of writes the one that their server timestamps have.
    package let time: Timestamp
    /// What deciding may still cost, in units that policies and the store agree on: about 50 ns each. Nil if only the
    /// policy's own bounds apply.
    package private(set) var costLeft: Int?
    /// Whether the host itself asks, and the client learns nothing of a refusal: it isn't reported either.
    package let isTrial: Bool
    private let maxCost: Int?
    private let before: (DocumentPath) throws(DocumentError) -> Document?
    private let after: (DocumentPath) throws(DocumentError) -> Document?
    private let written: (DocumentPath) -> Bool
    private var read: Set<DocumentPath> = []

    /// - Parameter isWritten: whether the operation writes a document.
    package init(
        time: Timestamp, maxCost: Int? = nil, isTrial: Bool = false,
        isWritten: @escaping (DocumentPath) -> Bool = { _ in false },
        document: @escaping (DocumentPath) throws(DocumentError) -> Document?,
        documentAfter: @escaping (DocumentPath) throws(DocumentError) -> Document?
    ) {
        self.time = time
        costLeft = maxCost
        self.maxCost = maxCost
        written = isWritten
        self.isTrial = isTrial
        before = document
        after = documentAfter
    }

    /// How many documents were read for the operation besides those that it writes; before it and after it are one.
    package var documentCount: Int { read.count }

    package func isWritten(_ path: DocumentPath) -> Bool { written(path) }

    private func count(_ path: DocumentPath) { if !written(path) { read.insert(path) } }

    /// A document as it is before the operation.
    package func document(_ path: DocumentPath) throws(DocumentError) -> Document? {
        count(path)
        return try before(path)
    }

    /// Whether documents were looked at that a query names: what was decided holds only as long as they stay as they are.
    package private(set) var dependsOnResult = false

    /// A document that a query names. It doesn't count among those that are read for the operation.
    package func named(_ path: DocumentPath) throws(DocumentError) -> Document? {
        dependsOnResult = true
        return try before(path)
    }

    /// A document as it will be if all of the operation's writes are allowed.
    package func documentAfter(_ path: DocumentPath) throws(DocumentError) -> Document? {
        count(path)
        return try after(path)
    }

    /// What the policy has spent.
    package var cost: Int { maxCost.map { $0 - (costLeft ?? 0) } ?? 0 }

    /// - Throws: if less is left.
    package func spend(_ cost: Int) throws(DecisionTooCostly) {
        guard let left = costLeft else { return }
        costLeft = max(left - cost, 0)
        guard cost <= left else { throw DecisionTooCostly() }
    }
}

/// Deciding takes more than it may where it was tried.
package struct DecisionTooCostly: Error {
    package init() {}
}
