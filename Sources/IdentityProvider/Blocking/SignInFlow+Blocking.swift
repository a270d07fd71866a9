import DocumentModel
import StrictJSON
import UserStore

/// What a request to sign in leads to, before functions have a say.
enum SignInProposal<Other: Sendable>: Sendable {
    case signIn(SignInCandidate)
    /// No sign-in, and no error.
    case other(Other)
    /// An error that is decided together with a change, such as a counted failure: the change is kept.
    case failure(IdentityToolkitError)
}

/// The result of a request to sign in.
enum SignInResult<Other: Sendable>: Sendable {
    case signedIn(SignInOutcome)
    case other(Other)
}

extension SignInResult where Other == Never {
    var outcome: SignInOutcome {
        switch self {
        case .signedIn(let outcome): outcome
        }
    }
}

extension IdentityToolkit {
    private static let maxPreviews = 5

    /// Signs a client in.
    ///
    /// What happens is decided in the commit. Functions that may refuse are asked before it, for what would happen at that
    /// moment; if something else happens then, they are asked again.
    ///
    /// They aren't asked for anonymous users. So the first address, phone number or provider of such a user counts as the
    /// creation of one, as on Firebase.
    ///
    /// - Parameter propose: decides, and makes the changes that belong to the proof, such as using a code up. It doesn't
    ///   store the candidate, and may run several times.
    func signIn<Other: Sendable>(
        _ call: SignInCall, by method: SignInMethod,
        _ propose: @escaping @Sendable (UserTransaction) throws -> SignInProposal<Other>
    ) async throws -> SignInResult<Other> {
        guard blocking.has(.beforeCreate) || blocking.has(.beforeSignIn) else {
            return try await commit(call, .notNeeded, propose).get()
        }
        for _ in 0..<Self.maxPreviews {
            // If there is nothing to ask for, the commit decides on the error, and counts it.
            var consent = Consent.missing
            if let preview = try await preview(propose) {
                consent = .given(try await ask(for: preview, by: method, call))
            }
            do {
                return try await commit(call, consent, propose).get()
            } catch is OutdatedApproval {
                continue
            }
        }
        throw IdentityToolkitError.unavailable
    }

    private func proposal<Other>(
        _ propose: (UserTransaction) throws -> SignInProposal<Other>, in transaction: UserTransaction
    ) throws -> SignInProposal<Other> {
        let proposal = try propose(transaction)
        guard case .signIn(var candidate) = proposal else { return proposal }
        let wasAnonymous = try transaction.user(candidate.user.uid)?.isAnonymous ?? false
        candidate.isCreation = candidate.isNew || wasAnonymous && !candidate.user.isAnonymous
        return .signIn(candidate)
    }

    /// The sign-in that would happen now; nil if none would.
    ///
    /// - Throws: `DocumentError` if the store can't be read.
    private func preview<Other>(
        _ propose: @escaping @Sendable (UserTransaction) throws -> SignInProposal<Other>
    ) async throws -> SignInCandidate? {
        do {
            let proposal = try await users.preview { try self.proposal(propose, in: $0) }
            guard case .signIn(let candidate) = proposal, !candidate.user.isDisabled else { return nil }
            return candidate
        } catch let error as DocumentError {
            throw error
        } catch {
            return nil
        }
    }

    private func ask(
        for candidate: SignInCandidate, by method: SignInMethod, _ call: SignInCall
    ) async throws -> Approval {
        var approval = Approval(user: candidate.user, isCreation: candidate.isCreation, changes: [])
        guard candidate.isBlockable else { return approval }
        var user = candidate.user
        if candidate.isCreation { try await ask(.beforeCreate, &user, method, call, &approval) }
        if !user.isDisabled, !candidate.waitsForSecondFactor {
            try await ask(.beforeSignIn, &user, method, call, &approval)
        }
        return approval
    }

    private func ask(
        _ moment: BlockingMoment, _ user: inout UserRecord, _ method: SignInMethod, _ call: SignInCall,
        _ approval: inout Approval
    ) async throws {
        guard blocking.has(moment) else { return }
        let answer: JSONValue?
        do throws(BlockingRefusal) {
            answer = try await blocking.run(moment, blockingEvent(moment, user, method, call))
        } catch {
            throw error.error
        }
        guard let changes = try BlockingChanges(answer, at: moment) else { return }
        changes.apply(to: &user)
        approval.changes.append(changes)
    }

    /// What functions have approved, for whom.
    private struct Approval: Sendable {
        var user: UserRecord
        var isCreation: Bool
        var changes: [BlockingChanges]

        /// Whether functions have seen this user, apart from times, which each proposal sets again.
        func covers(_ candidate: SignInCandidate) -> Bool {
            var seen = candidate.user
            seen.createdAt = user.createdAt
            seen.lastSignInAt = user.lastSignInAt
            seen.lastRefreshAt = user.lastRefreshAt
            seen.passwordUpdatedAt = user.passwordUpdatedAt
            seen.validSince = user.validSince
            seen.recoverySince = user.recoverySince
            seen.isRecoveryVerified = user.isRecoveryVerified
            return isCreation == candidate.isCreation && seen == user
        }
    }

    private enum Consent: Sendable {
        /// There are no functions.
        case notNeeded
        /// They weren't asked, since no client would have been signed in.
        case missing
        case given(Approval)
    }

    /// Something else happens than was approved.
    private struct OutdatedApproval: Error {}

    private func commit<Other: Sendable>(
        _ call: SignInCall, _ consent: Consent,
        _ propose: @escaping @Sendable (UserTransaction) throws -> SignInProposal<Other>
    ) async throws -> Result<SignInResult<Other>, IdentityToolkitError> {
        try await users.commit(in: call.context) { transaction in
            switch try proposal(propose, in: transaction) {
            case .other(let other): return .success(.other(other))
            case .failure(let error): return .failure(error)
            case .signIn(var candidate):
                switch consent {
                case .notNeeded: break
                // A disabled user is refused without them.
                case .missing: guard candidate.user.isDisabled else { throw OutdatedApproval() }
                case .given(let approval):
                    guard approval.covers(candidate) else { throw OutdatedApproval() }
                    for changes in approval.changes {
                        changes.apply(to: &candidate.user)
                        candidate.claims = changes.sessionClaims ?? candidate.claims
                    }
                    if candidate.user.isDisabled {
                        // As a function wants it: the user is kept, and doesn't get in.
                        try store(candidate.user, isNew: candidate.isNew, in: transaction)
                        return .failure(.userDisabled)
                    }
                }
                return .success(.signedIn(try complete(candidate, from: call.origin, in: transaction)))
            }
        }
    }
}
