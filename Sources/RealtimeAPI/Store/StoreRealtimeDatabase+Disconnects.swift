import CommitPipeline
import DocumentModel
import Logging
import RealtimeModel
import RealtimeStore
import Sharing
import StrictJSON
import Synchronization

/// What happens at the end of sessions. It is durable: if the host is killed, it happens after its next start.
extension StoreRealtimeDatabase {
    func onDisconnect(
        _ request: RealtimeDisconnectRequest, session: String, as principal: RealtimePrincipal,
        for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {
        let finish: @Sendable (Result<Void, RealtimeFailure>) -> Void = { [name] result in
            completion(result.mapError { RealtimeServiceError($0, of: name) })
        }
        switch request {
        case .cancel(let target):
            store.cancelDisconnects(
                at: target.path, of: session, in: name, caller: .clientCommit(caller(principal, client) ?? Self.admins),
                completion: finish)
        case .write(let write):
            // It is one step of the writer, which others wait for.
            guard write.nodeCount <= Self.maxCommittedNodes else {
                return completion(.failure(.updateTooLarge(nodes: Self.maxCommittedNodes)))
            }
            // Decided as if it happened now, without a trace.
            let request = commit(write, as: principal)
            let caller = caller(principal, client) ?? Self.admins
            store.check(request, of: writer(write, principal, client)) { [shared, name] result in
                if case .failure(let failure) = result { return finish(.failure(failure)) }
                shared.disconnects.add(of: caller) {
                    let disconnect = RealtimeDisconnect(write, as: principal)
                    shared.store.register(disconnect, of: session, in: name, completion: finish)
                }
            }
        }
    }

    func endSession(
        _ session: String, of client: RealtimeClient?, _ completion: @escaping @Sendable (_ isDone: Bool) -> Void
    ) {
        store.runDisconnects(
            of: session, in: name, sequence: client?.writes, triggerLimits: settings.withLock { $0.triggerLimits },
            caller: client.map { .clientCommit($0.address) } ?? .clientCommit(Self.admins),
            context: { OperationContext(auth: EventAuth(RealtimePrincipal(stored: $0.principal))) },
            check: { [self] disconnect in
                guard let write = try? disconnect.write() else { return nil }
                return check(write, as: RealtimePrincipal(stored: disconnect.principal))
            },
            checkGeneration: { [self] in rules.withLock { $0.generation } },
            completion: { [shared, name] result in
                let failure: RealtimeFailure? =
                    switch result {
                    case .failure(let failure): failure
                    case .success(let results):
                        [.unavailable, .damaged].lazy.compactMap { code in
                            results.compactMap(\.self).first { $0.code == code }
                        }.first
                    }
                guard let failure else { return completion(true) }
                // What is damaged stays so.
                let isOver = failure.code == .damaged
                shared.logger.error(
                    "what a client has registered for its disconnection can't be done\(isOver ? "" : " yet")",
                    metadata: ["database.name": "\(name)", "error": "\(failure.message)"])
                if !isOver { shared.unfinished.add(.init(namespace: name, session: session)) }
                completion(isOver)
            })
    }
}

extension RealtimeDisconnect {
    init(_ write: RealtimeWrite, as principal: RealtimePrincipal) {
        switch write {
        case .set(let target, let value, _):
            self.init(.set, target, value: value.json, principal: principal.stored)
        case .update(let update):
            self.init(.update, RealtimeTarget(.root), value: update.json, principal: principal.stored)
        }
    }
}

extension RealtimePrincipal {
    /// JSON: `true` is the admin, null an unauthenticated client, and an object the variable `auth`.
    var stored: [UInt8] {
        let value: JSONValue =
            switch self {
            case .admin: .bool(true)
            case .client(let auth): auth?.variable ?? .null
            }
        return (try? value.serialized()) ?? Array("null".utf8)
    }

    /// What can't be read is an unauthenticated client.
    init(stored: [UInt8]) {
        switch try? JSONValue(parsing: stored) {
        case .bool(true)?: self = .admin
        case let variable?: self = .client(variable == .null ? nil : RealtimeAuth(variable: variable))
        case nil: self = .client(nil)
        }
    }
}
