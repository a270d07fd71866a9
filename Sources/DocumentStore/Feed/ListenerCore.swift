import CommitPipeline
import StorageEngine
import DocumentModel

/// A listener's state on the listeners' thread.
///
/// Created on a reader thread, which reads its first result, and then used only by the listeners' thread.
final class ListenerCore: @unchecked Sendable {
    let mailbox: ListenerMailbox
    let policy: (any AccessPolicy)?
    /// Whether the policy is asked again about documents of a query's result that change.
    let dependsOnResult: Bool
    /// Whose refills count together.
    let refiller: Refiller
    var target: ListenerTarget
    /// The version of the first result, which includes all changes up to it.
    let start: Int64
    private var first: [ListenEvent]
    /// The bytes that count as unread until the thread takes the listener. They include its window: if the listener
    /// ends before that, the limit on windows no longer counts the window, although it is still in memory.
    let untakenBytes: Int
    /// The bytes of its window that count towards the limit on all windows.
    var notedBytes = 0
    /// Counts the target.
    private let held: HeldTarget?

    /// Reads the first result, or the changes since a position.
    ///
    /// - Parameter held: counts the target for as long as the listener is in memory; nil if it isn't counted.
    /// - Throws: `DocumentError`; `failedPrecondition` if the listener has to start over.
    init(
        _ target: ListenerTarget, from position: Timestamp?, isCounted: Bool = false, _ mailbox: ListenerMailbox,
        _ context: OperationContext, _ parts: DocumentParts, _ view: DocumentView, version: Int64,
        held: HeldTarget? = nil
    ) throws {
        self.mailbox = mailbox
        self.held = held
        policy = context.policy
        refiller = context.policy == nil ? .listener(mailbox.id) : .client(context.owner ?? 0)
        start = version
        self.target = target
        let budget = ReadBudget(parts.configuration.maxReadBytes)
        let time = Timestamp(microseconds: version)
        let access = parts.accessView(view)
        if let policy { try target.check(policy, access, in: view, parts.listenerMeter(context)) }
        dependsOnResult = access.dependsOnResult
        let first: ListenEvent
        do {
            first = try Self.first(&self.target, from: position, at: time, within: budget, context, parts, view)
        } catch let error where position != nil && DocumentError(from: error).code == .dataLoss {
            // The log may be damaged where the documents aren't.
            throw DocumentError(.failedPrecondition, "\(DocumentError(from: error).message); start over")
        }
        self.first = [first]
        if isCounted, position != nil {
            // A meter of its own: what was read of the log must not leave too little.
            let count = try self.target.count(
                in: view, parts.meter(context), maxBytes: parts.configuration.maxReadBytes)
            self.first.append(.count(count, at: time))
        }
        let windowBytes = if case .window(let window) = self.target { window.bytes } else { 0 }
        untakenBytes = max(first.size, windowBytes)
    }

    /// Returns the first events, once: a whole result isn't held for the listener's lifetime.
    func takeFirst() -> [ListenEvent] {
        defer { first = [] }
        return first
    }

    private static func first(
        _ target: inout ListenerTarget, from position: Timestamp?, at time: Timestamp, within budget: ReadBudget,
        _ context: OperationContext, _ parts: DocumentParts, _ view: DocumentView
    ) throws -> ListenEvent {
        let meter = parts.meter(context)
        guard let position else { return .initial(try target.begin(in: view, within: budget, meter), at: time) }
        let version = time.microseconds
        let since = position.microseconds
        try ChangeLog.checkReach(to: since, snapshot: version, in: view.storage)
        if case .window(var earlier) = target {
            let past = ReadState(view, of: version, at: since, PastLookup(parts, [])).view
            do {
                earlier.fill(try earlier.source().run(in: past, within: budget, meter: meter))
            } catch let error as DocumentError where error.code == .resourceExhausted {
                // The result of now may cost less.
                throw DocumentError(
                    .failedPrecondition,
                    "to find the result at \(position) takes more than a read may, since much has changed; start over")
            }
            // A meter of its own, as below.
            _ = try target.begin(in: view, within: budget, parts.meter(context))
            guard case .window(let now) = target else { throw DocumentError(.internal, "a window is none") }
            let changes = try QueryWindow.difference(
                from: Array(earlier.visible), to: Array(now.visible), of: now.query
            ) { try view.document($0) == nil }
            return .changes(changes, at: time)
        }
        let (changes, effect) = try target.difference(
            after: since, upTo: version, atMostBytes: parts.configuration.maxReadBytes, in: view, meter)
        var left = LeftDocuments(changes)
        return left.added(to: SizedEvent(.changes(effect, at: time)), of: target) { document in
            context.policy.map { parts.mayGet(document, by: $0) } ?? true
        }.event
    }
}

extension ListenerTarget {
    /// The number of documents in the result, in a state in which a window has been filled.
    fileprivate func count(in view: DocumentView, _ meter: QueryMeter, maxBytes: Int) throws -> Int {
        switch self {
        case .documents(let paths): return try paths.count { try view.document($0) != nil }
        case .window(let window): return window.visible.count
        case .query(let query):
            let plan = try AggregationPlan(query, [.count(upTo: nil)], view.catalog)
            guard case .integer(let count)? = try plan.run(in: view, meter, maxBytes: maxBytes).values.first else {
                throw DocumentError(.internal, "a count has no number")
            }
            return Int(count)
        }
    }

    /// The changes between two versions, one for each document, and their effect, from the log. Not for windows, which
    /// depend on more than the changes.
    fileprivate mutating func difference(
        after since: Int64, upTo version: Int64, atMostBytes limit: Int, in view: DocumentView, _ meter: QueryMeter
    ) throws -> (changes: [DocumentChange], effect: [ListenChange]) {
        var found: [DocumentChange]?
        do {
            found = try ChangeLog.difference(
                after: since, upTo: version, atMostBytes: limit, in: view.storage, meter, covers: covers)
        } catch is QueryMeter.Exceeded {
            // The whole result may cost less.
        }
        guard let changes = found else {
            throw DocumentError(
                .failedPrecondition, "more has changed since \(Timestamp(microseconds: since)) than one answer may hold"
            )
        }
        let effect = try apply(changes) { _ in throw DocumentError(.internal, "a whole result needs no filling") }
        return (changes, effect)
    }
}
