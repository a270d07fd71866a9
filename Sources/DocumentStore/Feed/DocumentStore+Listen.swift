import CommitPipeline
package import DocumentModel

extension DocumentStore {
    /// Follows documents or a query's result.
    ///
    /// The policy is asked before anything is told, and for documents again at each change.
    ///
    /// - Parameter position: where an earlier listener on the same target got to. The first event then has only what
    ///   changed since, where the log still has it; else it says to start over.
    /// - Throws: `invalidArgument` for a query that is none, `resourceExhausted` where there are too many listeners. All
    ///   else is told by the listener.
    package func listen(
        to target: ListenTarget, from position: Timestamp? = nil, in context: OperationContext = OperationContext()
    ) throws(DocumentError) -> DocumentListener {
        let target = try ListenerTarget(target)
        let mailbox = try listeners.register(context)
        let taken = pipeline.read(
            ViewRead(parts: parts) { [self] result in
                begin(mailbox, on: result) { view, version in
                    try ListenerCore(target, from: position, mailbox, context, parts, view, version: version)
                }
            }, limit: configuration.commits.maxWaiting)
        if !taken { listeners.end(mailbox.id, .failed(Self.notTaken)) }
        return DocumentListener(mailbox, hub: listeners)
    }

    private func begin(
        _ mailbox: ListenerMailbox, on result: Result<(view: DocumentView, version: Int64), DocumentError>,
        _ body: (DocumentView, Int64) throws -> ListenerCore
    ) {
        // Whoever wanted it may have gone while it waited.
        guard !mailbox.isEnded else { return }
        do {
            let (view, version) = try result.get()
            let core = try body(view, version)
            try listeners.add(core)
        } catch {
            let error = DocumentError(from: error)
            listeners.end(
                mailbox.id, error.code == .failedPrecondition ? .startOver(error.message) : .failed(error))
        }
    }
}
