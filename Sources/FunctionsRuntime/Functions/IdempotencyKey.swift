import DocumentModel
import WorkerProtocol

/// How a callable's calls under idempotency keys are done once.
struct Idempotency: Sendable {
    /// The key in the call's data; nil if the function's data has none.
    var key: (@Sendable (any Sendable) -> String?)?
    var isRepeatable = false

    private static let maxBytes = 256
    /// The size of a response that a function keeps if it doesn't ask for keys: its callers decide about it.
    private static let maxUnaskedResponse = 1_000_000

    /// - Throws: ``HttpsError`` `invalidArgument` if the key is too long.
    private func key(in data: some Sendable) throws -> String? {
        guard let key = key?(data) else { return nil }
        guard (1...Self.maxBytes).contains(key.utf8.count) else {
            throw HttpsError(
                .invalidArgument, "An idempotency key has 1 to \(Self.maxBytes) bytes, not \(key.utf8.count).")
        }
        return key
    }

    /// Names a transactional call's key, so that its transaction finds and stores the response.
    func name(_ data: some Sendable, _ context: InvocationContext) async throws {
        guard let key = try key(in: data) else { return }
        _ = try await context.transport.send(.claim(key: key, .transactional))
    }

    /// Does the work of a call once for its key, if it has one.
    ///
    /// The begin is recorded before the work and the response after it. A call whose begin is recorded, without a response
    /// and without a process at it, may have taken effect: only repeatable work is done again. So may one that failed,
    /// unless the author says with an ``HttpsError`` that it didn't.
    func once(
        _ data: some Sendable, _ context: InvocationContext, _ work: () async throws -> [UInt8]
    ) async throws -> [UInt8] {
        guard let key = try key(in: data) ?? context.head.idempotencyKey else { return try await work() }
        do {
            let response = try await context.transport.send(.claim(key: key, isRepeatable ? .repeatable : .once))
            switch response {
            case .claimed: break
            case .completed(let answer): return answer
            default: throw DocumentError.unexpected(response, to: "claim")
            }
        } catch let error as DocumentError where error == .outcomeUnknown {
            throw HttpsError(error.code, error.message)
        }
        let answer: [UInt8]
        do {
            answer = try await work()
        } catch let error as HttpsError {
            // If this fails, a repeated call learns that the outcome isn't known.
            _ = try? await context.transport.send(.settle(nil))
            throw error
        }
        await store(answer, context)
        return answer
    }

    /// Stores a response under the call's key. If that fails, the work is still done, and its caller gets the response;
    /// repeated calls learn that the outcome isn't known.
    private func store(_ answer: [UInt8], _ context: InvocationContext) async {
        do {
            guard key != nil || answer.count <= Self.maxUnaskedResponse else {
                throw DocumentError.invalidArgument(
                    "without the option idempotencyKey, a response has at most \(Self.maxUnaskedResponse) bytes")
            }
            _ = try await context.transport.send(.settle(answer))
        } catch {
            context.logger.error(
                "a response isn't stored under its idempotency key, so repeated calls don't get it",
                metadata: ["error.message": "\(error)", "response.bytes": "\(answer.count)"])
        }
    }

    /// Why a function can't have these options; nil if it can.
    func problem(of handler: Function.Handler) -> String? {
        guard isRepeatable, handler.isTransactional else { return nil }
        return "a transactional handler's work is never in doubt: it may always be repeated; leave repeatable() out"
    }
}

extension FunctionOption where Kind: CallableFunctionKind {
    /// Names the idempotency key in the call's data, for clients that can't send the header `Idempotency-Key`:
    ///
    ///     onCall("charge", .idempotencyKey(\.requestID)) { (request: CallableRequest<Charge>) in … }
    ///
    /// A repeated call of the same caller with the same key and data gets the first call's response for 7 days, and the
    /// handler doesn't run. While the first call is running, the repeated one waits for it. Other data under the key is
    /// refused with INVALID_ARGUMENT; the order of keys in JSON makes no difference.
    ///
    /// A transactional handler's response is stored in its own commit, so that its work is done exactly once. If it throws,
    /// nothing is stored, and the call may be repeated.
    ///
    /// Any other handler is run at most once. With an ``HttpsError`` it says that the work wasn't done: the call may be
    /// repeated. If it throws anything else, or its process ends or its time is over before it returns, the work may have
    /// been done: repeated calls get UNKNOWN, unless the function is ``repeatable()``. Throw an ``HttpsError`` only before
    /// the work, or once it certainly failed.
    ///
    /// A response of up to 10 MiB is stored; in a standalone bundle, 1,000,000 bytes. Beyond that, a transactional handler
    /// fails; any other handler's caller gets the response, the failure is logged, and repeated calls get UNKNOWN.
    ///
    /// - Parameter path: A key of 1 to 256 bytes.
    public static func idempotencyKey(_ path: any KeyPath<Kind.Input, String> & Sendable) -> Self {
        .init { $0.idempotency.key = { ($0 as? Kind.Input)?[keyPath: path] } }
    }

    /// Names the idempotency key in the call's data, which may have none: the call is done as often as it is sent then.
    public static func idempotencyKey(_ path: any KeyPath<Kind.Input, String?> & Sendable) -> Self {
        .init { $0.idempotency.key = { ($0 as? Kind.Input)?[keyPath: path] } }
    }

    /// The handler may run again for the same idempotency key if an earlier run didn't end or threw anything but an
    /// ``HttpsError``, because what it does can be repeated. Default: the caller gets UNKNOWN instead.
    ///
    /// Not for transactional handlers, which can always be repeated.
    public static func repeatable() -> Self { .init { $0.idempotency.isRepeatable = true } }
}
