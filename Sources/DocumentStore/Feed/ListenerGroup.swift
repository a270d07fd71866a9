import CommitPipeline
package import DocumentModel
import Synchronization

extension DocumentError {
    /// Whether the store is shutting down.
    package var isOfShutdown: Bool { self == CommitPipeline.shutDown }
}

/// Listeners of one client whose events are taken together, at times at which all of them are complete: the client never
/// sees half a commit.
///
/// Nothing waits here for the client: see ``StoreConfiguration/maxListenerEvents``.
package final class ListenerGroup: Sendable {
    /// What has happened up to a time, in the order of the members' numbers.
    package struct Batch: Sendable {
        package let time: Timestamp
        package let news: [(member: Int32, news: News)]
    }

    package enum News: Sendable {
        case event(ListenEvent)
        /// The listener has ended.
        case failed(DocumentError)
    }

    private struct State {
        var mailboxes: [Int32: ListenerMailbox] = [:]
        /// The members that may have news.
        var ready: Set<Int32> = []
        /// Members with news that the last take left out.
        var held: Set<Int32> = []
        var isClosed = false
    }

    private let store: DocumentStore
    private let state = Mutex(State())
    private let onNews: @Sendable () -> Void

    /// - Parameter onNews: called when ``take()`` may return something, on a thread of the store: it must not block.
    package init(_ store: DocumentStore, onNews: @escaping @Sendable () -> Void) {
        self.store = store
        self.onNews = onNews
    }

    deinit { close() }

    /// Adds a listener, instead of one of the same number.
    ///
    /// - Parameter isCounted: whether a listener with a position also receives the number of documents.
    /// - Throws: as `DocumentStore.listen(to:from:in:)`.
    package func listen(
        to target: ListenTarget, as member: Int32, from position: Timestamp? = nil, isCounted: Bool = false,
        in context: OperationContext
    ) throws(DocumentError) {
        remove(member)
        let mailbox = try store.listen(to: target, from: position, isCounted: isCounted, in: context) {
            [weak self] isEnd in
            self?.note(member, isEnd: isEnd)
        }
        let isClosed = state.withLock { state in
            if !state.isClosed { state.mailboxes[member] = mailbox }
            return state.isClosed
        }
        if isClosed { store.listeners.end(mailbox.id, .cancelled) }
        // What came before the listener was a member.
        note(member, isEnd: true)
    }

    package func remove(_ member: Int32) {
        let mailbox = state.withLock { state in
            state.ready.remove(member)
            state.held.remove(member)
            return state.mailboxes.removeValue(forKey: member)
        }
        if let mailbox { store.listeners.end(mailbox.id, .cancelled) }
    }

    /// Ends all listeners.
    package func close() {
        let mailboxes = state.withLock { state in
            state.isClosed = true
            defer { state.mailboxes = [:] }
            return Array(state.mailboxes.values)
        }
        for mailbox in mailboxes { store.listeners.end(mailbox.id, .cancelled) }
    }

    /// Takes all news up to one time. For one caller at a time.
    ///
    /// - Parameter members: those whose news are taken; those of others wait, and count as unread. Nil for all.
    /// - Returns: nil if there are none.
    package func take(of members: Set<Int32>? = nil) -> Batch? {
        let hub = store.listeners
        while true {
            // The order matters: all events up to the position were added before the position advanced.
            let time = hub.position
            let ready = state.withLock { state in
                let all = state.ready.union(state.held)
                let wanted = members.map { all.intersection($0) } ?? all
                (state.ready, state.held) = ([], all.subtracting(wanted))
                return wanted.sorted().compactMap { id in state.mailboxes[id].map { (id, $0) } }
            }
            var news: [(member: Int32, news: News)] = []
            var later: [Int32] = []
            for (member, mailbox) in ready {
                let hasMore = take(from: mailbox, of: member, upTo: time, &news)
                if hasMore { later.append(member) }
            }
            if !later.isEmpty {
                // These belong to commits that not all members know yet.
                state.withLock { $0.ready.formUnion(later) }
                hub.signalAfterRound(self)
            }
            if !news.isEmpty { return Batch(time: time, news: news) }
            guard !later.isEmpty, hub.position > time else { return nil }
        }
    }

    /// - Returns: whether the member has later news.
    private func take(
        from mailbox: ListenerMailbox, of member: Int32, upTo time: Timestamp,
        _ news: inout [(member: Int32, news: News)]
    ) -> Bool {
        var hasEnded = false
        let hasMore = mailbox.take(upTo: time) { answer in
            switch answer {
            case .event(let event): news.append((member, .event(event)))
            case .failed(let error): news.append((member, .failed(error)))
            case .end: hasEnded = true
            }
        }
        if hasEnded {
            state.withLock { state in
                if state.mailboxes[member] === mailbox { state.mailboxes[member] = nil }
            }
        }
        return hasMore
    }

    /// The time up to which all that was taken is complete.
    package var position: Timestamp { store.listeners.position }

    private func note(_ member: Int32, isEnd: Bool) {
        let isFirst = state.withLock { state in
            defer { state.ready.insert(member) }
            return state.ready.isEmpty
        }
        if isEnd { return onNews() }
        // Events are signalled once the round has reached all members, and those of one round once.
        if isFirst { store.listeners.signalAfterRound(self) }
    }

    func signal() { onNews() }
}
