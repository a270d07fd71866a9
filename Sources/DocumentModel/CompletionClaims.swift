import Synchronization

/// The response to a claim.
package enum ClaimAnswer: Hashable, Sendable {
    /// The work under the key is the caller's to do.
    case claimed
    /// It was done before, with this answer.
    case completed([UInt8])
    /// The key was used with other data.
    case keyReused
}

/// Keeps durably what was begun and answered under idempotency keys.
package protocol CompletionKeeper: Sendable {
    /// Records that the work under a key begins, unless it was begun before.
    ///
    /// - Parameters:
    ///   - isRepeatable: whether work that was begun and not answered may be begun again.
    ///   - completion: called once the record is durable; with ``DocumentError/outcomeUnknown`` if the work was begun
    ///     before and must not be repeated.
    func begin(
        _ key: CompletionKey, isRepeatable: Bool, in context: OperationContext,
        completion: @escaping @Sendable (Result<ClaimAnswer, DocumentError>) -> Void)

    /// Keeps the answer of begun work; with nil forgets the work, because it wasn't done.
    func end(
        _ key: CompletionKey, _ answer: [UInt8]?, in context: OperationContext,
        completion: @escaping @Sendable (Result<Void, DocumentError>) -> Void)
}

/// The keys under which work is in progress outside of transactions. A second call under a key waits for the first.
package final class CompletionClaims: Sendable {
    package typealias Completion<Answer> = @Sendable (Result<Answer, DocumentError>) -> Void

    /// In bytes, as records are stored: two users' names may be canonically equivalent.
    private struct Place: Hashable {
        var scope: [UInt8]
        var key: [UInt8]
    }

    private struct Call: Sendable {
        var key: CompletionKey
        var isRepeatable: Bool
        var context: OperationContext
        var completion: Completion<ClaimAnswer>

        var place: Place { Self.place(of: key) }

        static func place(of key: CompletionKey) -> Place {
            Place(scope: Array(key.scope.utf8), key: Array(key.key.utf8))
        }
    }

    private struct Claim {
        var owner: UInt64?
        /// Whether the record of the begin is durable.
        var isBegun = false
        var isReleased = false
        var waiting: [Call] = []
    }

    private struct Claims {
        var all: [Place: Claim] = [:]
        /// Where an owner has the claim, and where it waits: the end of each invocation asks for its own.
        private(set) var places: [UInt64: [Place]] = [:]

        mutating func note(_ call: Call) {
            guard let owner = call.context.owner else { return }
            places[owner, default: []].append(call.place)
        }

        /// Forgets an owner's claim, or one of its calls that wait.
        mutating func forget(_ place: Place, of owner: UInt64?) {
            guard let owner, let index = places[owner]?.firstIndex(of: place) else { return }
            places[owner]?.remove(at: index)
            if places[owner]?.isEmpty ?? false { places[owner] = nil }
        }
    }

    private let claims = Mutex(Claims())

    package init() {}

    /// The number of keys under which work is in progress.
    package var count: Int { claims.withLock { $0.all.count } }

    /// The number of owners that have claims, or wait.
    package var ownerCount: Int { claims.withLock { $0.places.count } }

    /// Claims the work under the context's key for its owner, when no other owner is at it.
    package func claim(
        isRepeatable: Bool, in context: OperationContext, by keeper: any CompletionKeeper,
        completion: @escaping Completion<ClaimAnswer>
    ) {
        guard let key = context.completion else { return completion(.failure(.noKey)) }
        claim(Call(key: key, isRepeatable: isRepeatable, context: context, completion: completion), by: keeper)
    }

    private func claim(_ call: Call, by keeper: any CompletionKeeper) {
        let isFirst = claims.withLock { claims in
            claims.note(call)
            guard claims.all[call.place] == nil else {
                claims.all[call.place]?.waiting.append(call)
                return false
            }
            claims.all[call.place] = Claim(owner: call.context.owner)
            return true
        }
        guard isFirst else { return }
        keeper.begin(call.key, isRepeatable: call.isRepeatable, in: call.context) { [self] result in
            switch result {
            case .success(.claimed): return begun(call, by: keeper)
            case .success(.completed(let answer)):
                end(call.place, of: call.context.owner, (answer, call.key.fingerprint), by: keeper)
            case .success(.keyReused), .failure: end(call.place, of: call.context.owner, nil, by: keeper)
            }
            call.completion(result)
        }
    }

    private func begun(_ call: Call, by keeper: any CompletionKeeper) {
        let isReleased = claims.withLock { claims in
            claims.all[call.place]?.isBegun = true
            return claims.all[call.place]?.isReleased ?? true
        }
        guard isReleased else { return call.completion(.success(.claimed)) }
        // The call is over before its handler has begun.
        keeper.end(call.key, nil, in: call.context) { [self] _ in
            end(call.place, of: call.context.owner, nil, by: keeper)
            call.completion(.failure(Self.isOver))
        }
    }

    private static let isOver = DocumentError(.cancelled, "the invocation is over")

    /// Ends the work under the context's key with its answer; with nil because it wasn't done.
    package func settle(
        _ answer: [UInt8]?, in context: OperationContext, by keeper: any CompletionKeeper,
        completion: @escaping Completion<Void>
    ) {
        guard let key = context.completion else { return completion(.failure(.noKey)) }
        let place = Call.place(of: key)
        guard claims.withLock({ $0.all[place]?.owner == context.owner && context.owner != nil }) else {
            return completion(.failure(DocumentError(.failedPrecondition, "the key isn't claimed by this call")))
        }
        keeper.end(key, answer, in: context) { [self] result in
            if case .success = result, let answer {
                end(place, of: context.owner, (answer, key.fingerprint), by: keeper)
            } else {
                end(place, of: context.owner, nil, by: keeper)
            }
            completion(result)
        }
    }

    /// Gives up the claims of an owner, because its work is over, and its waiting calls. What it has begun and not
    /// settled stays begun.
    package func release(owner: UInt64, by keeper: any CompletionKeeper) {
        let (places, given) = claims.withLock { claims in
            var begun: [Place] = []
            var given: [Call] = []
            for place in Set(claims.places[owner] ?? []) {
                let own = claims.all[place]?.waiting.filter { $0.context.owner == owner } ?? []
                if !own.isEmpty { claims.all[place]?.waiting.removeAll { $0.context.owner == owner } }
                for _ in own { claims.forget(place, of: owner) }
                given += own
                guard claims.all[place]?.owner == owner else { continue }
                claims.all[place]?.isReleased = true
                if claims.all[place]?.isBegun ?? false { begun.append(place) }
            }
            return (begun, given)
        }
        for call in given { call.completion(.failure(Self.isOver)) }
        for place in places { end(place, of: owner, nil, by: keeper) }
    }

    /// Ends an owner's claim, unless it has ended before: the place may be another owner's by now.
    ///
    /// - Parameter known: the work's answer, if it was done, and the data's fingerprint.
    private func end(
        _ place: Place, of owner: UInt64?, _ known: (answer: [UInt8], fingerprint: [UInt8])?,
        by keeper: any CompletionKeeper
    ) {
        let waiting = claims.withLock { claims in
            guard let claim = claims.all[place], claim.owner == owner else { return [Call]() }
            claims.all[place] = nil
            claims.forget(place, of: owner)
            for call in claim.waiting { claims.forget(place, of: call.context.owner) }
            return claim.waiting
        }
        for call in waiting {
            guard let known, known.fingerprint == call.key.fingerprint else {
                claim(call, by: keeper)
                continue
            }
            do throws(DocumentError) {
                try call.context.answer?.take(known.answer.count)
                call.completion(.success(.completed(known.answer)))
            } catch {
                call.completion(.failure(error))
            }
        }
    }
}

extension DocumentError {
    /// The error for a call under a key whose earlier call began and didn't end.
    package static let outcomeUnknown = DocumentError(
        .unknown,
        "An earlier call with this idempotency key began and didn't end. Whether it took effect isn't known.")

    fileprivate static let noKey = DocumentError(.failedPrecondition, "the call has no idempotency key")
}
