/// Decides what a user may do. Asked before anything is answered or applied.
package protocol AccessPolicy: Sendable {
    /// Called on the store's threads, so it must neither block nor take long.
    ///
    /// - Throws: `DocumentError(.permissionDenied)` to refuse; the client gets the error as it is.
    func check(_ access: Access, in view: AccessView) throws
}

/// One thing a user wants to do with a document or a collection.
package enum Access: Hashable, Sendable {
    case get(DocumentPath, Document?)
    case list(Query)
    case create(Document)
    case update(from: Document, to: Document)
    case delete(DocumentPath, Document?)
}

/// The rest of the store as a policy sees it while it decides.
package struct AccessView {
    /// The request's time; of a write, the time its commit gets.
    package let time: Timestamp
    private let before: (DocumentPath) throws(DocumentError) -> Document?
    private let after: (DocumentPath) throws(DocumentError) -> Document?

    package init(
        time: Timestamp, document: @escaping (DocumentPath) throws(DocumentError) -> Document?,
        documentAfter: @escaping (DocumentPath) throws(DocumentError) -> Document?
    ) {
        self.time = time
        self.before = document
        self.after = documentAfter
    }

    /// A document as it is before the request.
    package func document(_ path: DocumentPath) throws(DocumentError) -> Document? {
        try before(path)
    }

    /// A document as it will be if all the commit's writes are let through.
    package func documentAfter(_ path: DocumentPath) throws(DocumentError) -> Document? {
        try after(path)
    }
}
