import CommitPipeline
package import DocumentModel

extension DocumentStore {
    /// The number of open listeners, and the approximate number of bytes that wait for their readers.
    package var listenerFigures: (listeners: Int, unreadBytes: Int) { listeners.figures }

    /// Follows documents or a query's result.
    ///
    /// The policy is checked before anything is delivered. It is checked again at each change for documents, and for the
    /// result of a query if it has looked at documents that the query names.
    ///
    /// - Parameters:
    ///   - position: the position that an earlier listener on the same target reached. If the log still reaches back to it,
    ///     the first event has only the changes since then; otherwise it says to start over.
    ///   - isCounted: whether a listener with a position also receives the number of documents, as
    ///     ``ListenEvent/count(_:at:)``.
    /// - Throws: `invalidArgument` for an invalid query, `resourceExhausted` if there are too many listeners. The
    ///   listener reports all other errors.
    package func listen(
        to target: ListenTarget, from position: Timestamp? = nil, isCounted: Bool = false,
        in context: OperationContext = OperationContext()
    ) throws(DocumentError) -> DocumentListener {
        DocumentListener(
            try listen(to: target, from: position, isCounted: isCounted, in: context, onNews: nil), hub: listeners)
    }

    /// - Parameter onNews: called after each event, on a thread of the store, and with true when the listener has ended.
    func listen(
        to target: ListenTarget, from position: Timestamp?, isCounted: Bool = false, in context: OperationContext,
        onNews: (@Sendable (_ isEnd: Bool) -> Void)?
    ) throws(DocumentError) -> ListenerMailbox {
        let target = try ListenerTarget(target)
        let held = try listeners.targets.hold(target.heldBytes, client: context.policy == nil ? nil : context.owner)
        let mailbox = try listeners.register(context, onNews: onNews)
        submit(
            ViewRead(store: self, context: context, caller: context.client) {
                [listeners] (result: Result<Void, DocumentError>) in
                guard case .failure(let error) = result, !mailbox.isEnded else { return }
                listeners.end(
                    mailbox.id, error.code == .failedPrecondition ? .startOver(error.message) : .failed(error))
            } body: { [parts] view, version in
                // The listener may have been cancelled while this read was waiting.
                guard !mailbox.isEnded else { return }
                let core = try ListenerCore(
                    target, from: position, isCounted: isCounted, mailbox, context, parts, view, version: version,
                    held: held)
                try parts.listeners.add(core)
            })
        return mailbox
    }
}
