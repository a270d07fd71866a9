package import CommitPipeline
package import DocumentModel
import HTTPTypes
import StrictJSON
import Synchronization
package import UserModel
import UserStore

/// The host's own users as functions manage them: by the operations of the Admin API, as admins.
///
/// No blocking function is asked, as for other admins. What a function changes carries its event chain and its
/// delivery's lease, like its documents.
package struct FunctionUsers: UserBackend {
    private let toolkit: IdentityToolkit
    /// Where clients reach sign-in, for links; such as `http://127.0.0.1:9099`.
    private let address: @Sendable () -> String

    package init(_ toolkit: IdentityToolkit, address: @escaping @Sendable () -> String) {
        self.toolkit = toolkit
        self.address = address
    }

    package func perform(
        _ request: UserRequest, in context: OperationContext, completion: @escaping Completion<[UInt8]>
    ) {
        Task {
            do {
                completion(.success(try await answer(request, context)))
            } catch {
                completion(.failure(UserFailure(error)))
            }
        }
    }

    /// None takes long.
    package func release(owner: UInt64) {}

    private func answer(_ request: UserRequest, _ context: OperationContext) async throws -> [UInt8] {
        try Self.check(context)
        let call = try call(request, context)
        let answer =
            switch request.operation {
            case .create: try await toolkit.perform(.signUp, call)
            case .lookUp: try await toolkit.perform(.lookup, call)
            case .update: try await toolkit.perform(.update, call)
            case .delete: try await toolkit.perform(.delete, call)
            case .deleteBatch: try await toolkit.perform(.batchDelete, call)
            case .list: try await toolkit.perform(.batchGet, call)
            case .mailLink: try await toolkit.perform(.sendOobCode, call)
            case .customToken:
                // With the claims' names as they are.
                try toolkit.makeCustomToken(
                    try require((try? JSONValue(parsing: request.body))?.objectValue, "INVALID_ARGUMENT"))
            }
        return try JSONValue.object(answer).serialized()
    }

    /// The users' part of a transaction's commit.
    package struct Part: Sendable {
        fileprivate let change: PreparedUserChange
        fileprivate let users: UserStore

        /// Made on the writer's thread.
        package func make() -> any CommitPart { users.part { [change] in try change.run(in: $0) } }

        /// Why Identity Toolkit's rules have refused it; nil if they haven't.
        package var refusal: UserFailure? { change.refusal }
    }

    /// Checks and prepares what a transaction has read and changes.
    package func part(_ changes: UserChanges, in context: OperationContext) async throws(UserFailure) -> Part {
        do {
            try changes.check()
            try Self.check(context)
            return Part(change: try await prepared(changes, context), users: toolkit.users)
        } catch {
            throw UserFailure(error)
        }
    }

    /// Passwords are hashed here, off the writer's thread.
    private func prepared(_ changes: UserChanges, _ context: OperationContext) async throws -> PreparedUserChange {
        let reads = try changes.expectations.map { expectation in
            (lookup: try UserLookup(SignInRequest(json: expectation.lookup)), answer: expectation.answer)
        }
        let lookups = reads.reduce(0) { $0 + $1.lookup.count }
        guard lookups <= UserChanges.maxReads else {
            throw DocumentError.invalidArgument(
                "a transaction reads \(lookups) users; the limit is \(UserChanges.maxReads)")
        }
        var writes: [@Sendable (UserTransaction) throws -> Void] = []
        for request in changes.writes {
            writes.append(try await toolkit.write(request.operation, call(request, context)))
        }
        return PreparedUserChange(reads: reads, writes: writes)
    }

    private func call(_ request: UserRequest, _ context: OperationContext) throws -> SignInCall {
        try request.check()
        var fields = try SignInRequest(json: request.body)
        // Functions get links, and send the mail themselves.
        if request.operation == .mailLink { fields.set("returnOobLink", to: true) }
        guard !fields.has("idToken") else { throw IdentityToolkitError("UNEXPECTED_PARAMETER : idToken") }
        return SignInCall(
            fields: fields, isAdmin: true,
            // Invocations take turns at what costs time, as addresses do.
            origin: CallOrigin(address: "invocation \(context.owner ?? 0)", base: address()),
            functionContext: OperationContext(
                owner: context.owner, auth: context.auth, chain: context.chain, delivery: context.delivery,
                firesEvents: context.firesEvents))
    }

    private static func check(_ context: OperationContext) throws(DocumentError) {
        // A client under access rules, such as a test's, isn't an admin.
        guard context.policy == nil else {
            throw DocumentError(.permissionDenied, "only functions and other admins manage users")
        }
        if context.cancellation?.isCancelled == true { throw .callerLeft }
    }
}

/// The users' part of a transaction: what it has read is compared, then what it writes is applied.
private final class PreparedUserChange: Sendable {
    private let reads: [(lookup: UserLookup, answer: [UInt8])]
    private let writes: [@Sendable (UserTransaction) throws -> Void]
    private let failure = Mutex<UserFailure?>(nil)

    init(
        reads: [(lookup: UserLookup, answer: [UInt8])], writes: [@Sendable (UserTransaction) throws -> Void]
    ) {
        self.reads = reads
        self.writes = writes
    }

    /// Why Identity Toolkit's rules refuse it; nil if they don't.
    var refusal: UserFailure? { failure.withLock { $0 } }

    func run(in transaction: UserTransaction) throws {
        for (lookup, answer) in reads {
            let found = IdentityToolkit.lookupAnswer(try lookup.run(in: transaction), isWhole: true)
            guard try JSONValue.object(found).serialized() == answer else {
                throw DocumentError(
                    .aborted, "a user that the transaction has read was changed; try the transaction again")
            }
        }
        do {
            for write in writes { try write(transaction) }
        } catch {
            let reason = UserFailure(error)
            if case .refused = reason { failure.withLock { $0 = reason } }
            throw error
        }
    }
}

extension IdentityToolkit {
    /// What a write of a transaction does, checked before the commit.
    fileprivate func write(
        _ operation: UserRequest.Operation, _ call: SignInCall
    ) async throws -> @Sendable (UserTransaction) throws -> Void {
        if call["tenantId"] != nil { throw Self.noTenants }
        switch operation {
        case .create:
            let creation = try await creation(call)
            return { _ = try creation($0) }
        case .update:
            let change = try AccountChange(call.fields, isAdmin: true, hasToken: false)
            let uid = try require(call["localId"], "MISSING_LOCAL_ID")
            let password = try await newPassword(call)
            return { transaction in
                var change = change
                // A transaction revokes with its commit, however long before that its function has asked for it.
                if change.validSince != nil { change.validSince = transaction.seconds }
                let old = try require(try transaction.user(uid), "USER_NOT_FOUND")
                try transaction.update(try changed(old, by: change, password, in: transaction))
            }
        case .delete:
            let uid = try require(call["localId"], "MISSING_LOCAL_ID")
            return { try require(try $0.delete(uid), "USER_NOT_FOUND") }
        case .lookUp, .deleteBatch, .list, .mailLink, .customToken:
            throw IdentityToolkitError("INVALID_ARGUMENT : \(operation) can't be a part of a transaction.")
        }
    }

    private func newPassword(_ call: SignInCall) async throws -> PasswordHash? {
        guard let password = call["password"] else { return nil }
        try configuration.passwordPolicy.check(password)
        return try await passwords.hash(password, for: call.origin.network)
    }
}

extension UserFailure {
    fileprivate init(_ error: any Error) {
        switch error {
        case let error as IdentityToolkitError where error.status.code < 500: self = .refused(error.message)
        case let error as IdentityToolkitError:
            self = .failed(
                error.status == .serviceUnavailable
                    ? DocumentError(.unavailable, "the users can't be reached now; retry later")
                    : DocumentError(.internal, error.message))
        case let conflict as UserConflict: self = .refused(IdentityToolkitError(conflict).message)
        case let error as DocumentError: self = .failed(error)
        default: self = .failed(DocumentError(.internal, "an operation on users failed: \(error)"))
        }
    }
}
