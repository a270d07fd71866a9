import CommitPipeline
package import DocumentModel

extension DocumentStore {
    /// Follows documents or a query's result.
    ///
    /// The policy is checked before anything is delivered, and for documents again at each change.
    ///
    /// - Parameter position: the position that an earlier listener on the same target reached. If the log still reaches
    ///   back to it, the first event has only the changes since then; otherwise it says to start over.
    /// - Throws: `invalidArgument` for an invalid query, `resourceExhausted` if there are too many listeners. The
    ///   listener reports all other errors.
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
        // The listener may have been cancelled while this read was waiting.
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
