package import DocumentModel

/// The users that functions manage, with admin access: the host's own, or those of Identity Toolkit.
///
/// No operation blocks its caller. Each calls its completion once, on any thread, which must not block there.
package protocol UserBackend: Sendable {
    typealias Completion<Answer> = @Sendable (Result<Answer, UserFailure>) -> Void

    /// Performs one operation.
    ///
    /// - Parameter completion: called with the JSON of the answer.
    func perform(_ request: UserRequest, in context: OperationContext, completion: @escaping Completion<[UInt8]>)

    /// Gives up operations without an answer of an owner whose work is over. A change that is under way may still be made.
    func release(owner: UInt64)
}

package enum UserFailure: Error, Hashable, Sendable {
    /// The message of Identity Toolkit's error: `EMAIL_EXISTS`, or `WEAK_PASSWORD : …`.
    case refused(String)
    /// The users can't be reached, or the commit's other parts failed.
    case failed(DocumentError)
}

/// Refuses every operation: there is nothing to manage.
package struct UnavailableUsers: UserBackend {
    private let reason: DocumentError

    /// - Parameter reason: what is wrong, and what to do.
    package init(_ reason: String) { self.reason = DocumentError(.failedPrecondition, reason) }

    package func perform(
        _ request: UserRequest, in context: OperationContext, completion: @escaping Completion<[UInt8]>
    ) {
        completion(.failure(.failed(reason)))
    }

    package func release(owner: UInt64) {}
}
