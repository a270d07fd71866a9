/// The documents that functions reach: the embedded store's, or those of a service elsewhere.
package protocol DocumentBackend: Sendable {
    /// Does an operation, without ever blocking the caller.
    ///
    /// - Parameter completion: called once, on any thread, and must not block there.
    func perform(
        _ request: DocumentRequest, in context: OperationContext,
        completion: @escaping @Sendable (DocumentResponse) -> Void)

    /// Rolls back all transactions that were begun under an owner, whose work is over. What it asked for and has no
    /// answer to may be given up.
    func release(owner: UInt64)
}
