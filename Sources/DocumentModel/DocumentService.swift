/// Documents as the public surfaces reach them: every operation with who asks for it.
package protocol DocumentService: Sendable {
    func perform(_ request: DocumentRequest, as principal: Principal) async -> DocumentResponse

    /// The ids of the collections directly below a document, or at the root, in order.
    ///
    /// - Throws: what the store answers; `permissionDenied` for clients.
    func collectionIDs(below parent: DocumentPath?, as principal: Principal) async throws(DocumentError) -> [String]

    /// Deletes every document. For development.
    func clear() async throws(DocumentError)
}
