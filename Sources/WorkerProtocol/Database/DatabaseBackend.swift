package import DocumentModel

/// The Realtime Databases that functions reach, with admin access: the host's own, or those of a service elsewhere.
///
/// No operation blocks its caller. Each calls its completion once, on any thread, which must not block there.
package protocol DatabaseBackend: Sendable {
    typealias Completion<Answer> = @Sendable (Result<Answer, DocumentError>) -> Void

    /// Performs one operation. A conditional set of what has another hash fails as `aborted`.
    ///
    /// Observations belong to the context's owner.
    func perform(
        _ request: DatabaseRequest, in context: OperationContext, completion: @escaping Completion<DatabaseAnswer>)

    /// Ends all observations of an owner whose work is over.
    func release(owner: UInt64)
}

/// Refuses every operation: there is nothing to reach.
package struct UnavailableDatabases: DatabaseBackend {
    private let reason: DocumentError

    /// - Parameter reason: what is wrong, and what to do.
    package init(_ reason: String) { self.reason = DocumentError(.failedPrecondition, reason) }

    package func perform(
        _ request: DatabaseRequest, in context: OperationContext, completion: @escaping Completion<DatabaseAnswer>
    ) {
        completion(.failure(reason))
    }

    package func release(owner: UInt64) {}
}
