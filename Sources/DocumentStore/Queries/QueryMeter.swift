import CFunctionsSystem
import DocumentModel

/// What one query may read, in case its caller asks for more than the host can do for one of many.
package struct QueryLimits: Hashable, Sendable {
    /// Keys of indexes.
    package var entries: Int
    package var documents: Int
    package var time: Duration

    package init(entries: Int, documents: Int, time: Duration) {
        self.entries = entries
        self.documents = documents
        self.time = time
    }
}

/// Counts what the queries of a run have read so far, and ends them at their limits or once their caller has left.
final class QueryMeter {
    /// Makes the error of a reached limit.
    ///
    /// - Parameters:
    ///   - what: the limit, as it stands after "may read".
    ///   - mayPass: whether it is that on time, which a busy host reaches earlier.
    typealias Refusal = (_ what: String, _ mayPass: Bool) -> DocumentError

    private(set) var entries = 0
    private(set) var documents = 0
    /// Whether a limit was reached.
    private(set) var isExceeded = false
    /// The decisions made during the run, in words.
    var decisions: [String] = []

    private let limits: QueryLimits?
    private let cancellation: OperationCancellation?
    /// The time since some start.
    private let elapsed: (@Sendable () -> Duration)?
    private let refusal: Refusal?
    private let end: Duration
    /// The work since the caller and the clock were last looked at.
    private var unchecked = 0

    /// About 0.1 ms of reading.
    private static let maxUnchecked = 64

    /// - Parameters:
    ///   - limits: nil for none.
    ///   - elapsed: a clock, for the limit on time.
    ///   - refusal: nil for ``Exceeded``.
    init(
        _ limits: QueryLimits? = nil, cancellation: OperationCancellation? = nil,
        elapsed: (@Sendable () -> Duration)? = nil, refusal: Refusal? = nil
    ) {
        self.limits = limits
        self.cancellation = cancellation
        self.elapsed = elapsed
        self.refusal = refusal
        end = limits.flatMap { limits in elapsed.map { $0() + limits.time } } ?? .zero
    }

    /// - Throws: ``Exceeded`` or its replacement, or `cancelled` if the caller has left.
    func readEntries(_ count: Int = 1) throws {
        entries += count
        if let limits, entries > limits.entries { throw exceeded("\(limits.entries) entries of indexes") }
        try work(count)
    }

    /// - Parameter bytes: the size of the stored document.
    /// - Throws: ``Exceeded`` or its replacement, or `cancelled` if the caller has left.
    func readDocument(_ bytes: Int) throws {
        documents += 1
        if let limits, documents > limits.documents { throw exceeded("\(limits.documents) documents") }
        try work(16 + bytes / 1024)
    }

    /// Counts a decision of the policy, which may take much longer than reading a document.
    ///
    /// - Throws: ``Exceeded`` or its replacement, or `cancelled` if the caller has left.
    func noteDecision() throws { try work(16) }

    private func work(_ amount: Int) throws {
        unchecked += amount
        guard unchecked >= Self.maxUnchecked else { return }
        unchecked = 0
        functions_give_way()
        if let cancellation, cancellation.isCancelled { throw DocumentError.callerLeft }
        if let limits, let elapsed, elapsed() > end {
            throw exceeded("for \(limits.time.components.seconds) s", mayPass: true)
        }
    }

    private func exceeded(_ what: String, mayPass: Bool = false) -> any Error {
        isExceeded = true
        if let refusal { return refusal(what, mayPass) }
        return Exceeded(what: what)
    }

    /// A query has reached a limit.
    struct Exceeded: Error {
        /// The limit, after "a client's query may read".
        let what: String

        /// - Parameter suggestion: the index with which the query reads less; nil if none would help.
        func error(_ suggestion: String?) -> DocumentError {
            let advice = suggestion.map { "this index would help: \($0)" } ?? "ask for less, or page by page"
            return DocumentError(
                .resourceExhausted, "a client's query may read \(what), the limit, and this one needs more; \(advice)")
        }
    }
}

extension QueryPlan {
    /// Runs the body, which executes this plan, and says what would help if it reaches a limit.
    func explainingLimits<Result>(_ catalog: IndexCatalog, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let exceeded as QueryMeter.Exceeded {
            let isOrderWanted = query.query.limit != nil
            throw exceeded.error(IndexSuggestion(self, catalog, isOrderWanted: isOrderWanted)?.json)
        }
    }
}

extension DocumentParts {
    /// A meter for the queries of an operation.
    func meter(_ context: OperationContext, refusal: QueryMeter.Refusal? = nil) -> QueryMeter {
        QueryMeter(
            context.policy == nil ? nil : configuration.clientQueryLimits, cancellation: context.cancellation,
            elapsed: elapsed, refusal: refusal)
    }

    /// A meter for the log that an operation looks at to see an earlier state.
    func pastMeter(_ context: OperationContext) -> QueryMeter {
        meter(context) { _, _ in
            DocumentError(
                .resourceExhausted,
                "to find what was at this time takes longer than a client's read may, since much has been changed; read "
                    + "a later state")
        }
    }

    /// A meter for the check of what a client listens to.
    func listenerMeter(_ context: OperationContext) -> QueryMeter {
        meter(context) { what, _ in
            DocumentError(
                .resourceExhausted,
                "the check of a client's listener may read \(what), the limit, and this one needs more; listen to "
                    + "fewer documents at a time")
        }
    }

    /// A meter for the check of a client's commit.
    ///
    /// - Parameter isOfBatch: whether it is for independent writes, of which each may be allowed by itself.
    func commitMeter(_ context: OperationContext, isOfBatch: Bool = false) -> QueryMeter {
        QueryMeter(
            configuration.clientCommitLimits, cancellation: context.cancellation, elapsed: elapsed
        ) { what, mayPass in
            // After INVALID_ARGUMENT SDKs give the commit up. After RESOURCE_EXHAUSTED they send it again and again,
            // and no write behind it.
            DocumentError(
                mayPass || isOfBatch ? .resourceExhausted : .invalidArgument,
                "the check of a client's commit may read \(what), the limit, and this one needs more; commit fewer at "
                    + "a time")
        }
    }
}
