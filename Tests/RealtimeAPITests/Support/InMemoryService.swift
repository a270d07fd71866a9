import Dispatch
import RealtimeAPI
import RealtimeHashing
import RealtimeModel
import RealtimeTesting
import StrictJSON
import Synchronization

/// Databases in memory, which keep all promises of the protocol.
final class InMemoryService: RealtimeService {
    private let databases = Mutex<[String: InMemoryDatabase]>([:])
    private let rules: InMemoryRules
    /// Larger values are streamed.
    private let streamedBytes: Int
    private let now: @Sendable () -> Int64

    init(
        rules: InMemoryRules = .open, streamedBytes: Int = 32_768,
        now: @escaping @Sendable () -> Int64 = { 1_700_000_000_000 }
    ) {
        self.rules = rules
        self.streamedBytes = streamedBytes
        self.now = now
    }

    func database(_ name: String) throws(RealtimeServiceError) -> any RealtimeDatabase { memory(name) }

    func memory(_ name: String) -> InMemoryDatabase {
        databases.withLock { databases in
            if let known = databases[name] { return known }
            let new = InMemoryDatabase(rules, streamedBytes: streamedBytes, now: now)
            databases[name] = new
            return new
        }
    }

    func databaseNames() throws(RealtimeServiceError) -> [String] { databases.withLock { $0.keys.sorted() } }
}

/// Decides what principals other than the admin may do.
struct InMemoryRules: Sendable {
    var mayRead: @Sendable (RealtimePrincipal, RealtimePath, RealtimeQuery?) -> Bool
    var mayWrite: @Sendable (RealtimePrincipal, RealtimeTarget, _ before: RealtimeTree, _ after: RealtimeTree) -> Bool
    var isIndexed: @Sendable (RealtimePath, RealtimeQuery.Index) -> Bool

    /// Everything is allowed, and indexed.
    static let open = InMemoryRules(
        mayRead: { _, _, _ in true }, mayWrite: { _, _, _, _ in true }, isIndexed: { _, _ in true })
}

final class InMemoryDatabase: RealtimeDatabase {
    private struct Registration {
        var principal: RealtimePrincipal
        var write: RealtimeWrite
    }

    private struct State {
        var tree = RealtimeTree()
        var listens: [ObjectIdentifier: InMemoryListening] = [:]
        var registrations: [String: [Registration]] = [:]
        var rules = RealtimeRulesSource(source: Array("{}".utf8), json: Array("{}".utf8))
        var settings: [String: [UInt8]] = [:]
    }

    let profile = DatabaseProfile()
    private let state = Mutex(State())
    /// What listeners and completions are called on, in the order of commits.
    private let notifier = DispatchQueue(label: "notifier")
    private let rules: InMemoryRules
    private let streamedBytes: Int
    private let now: @Sendable () -> Int64

    init(_ rules: InMemoryRules, streamedBytes: Int, now: @escaping @Sendable () -> Int64) {
        self.rules = rules
        self.streamedBytes = streamedBytes
        self.now = now
    }

    var tree: RealtimeTree { state.withLock { $0.tree } }

    var listenCount: Int { state.withLock { $0.listens.count } }

    // MARK: Reads

    func read(
        _ read: RealtimeRead, as principal: RealtimePrincipal, for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeReading, RealtimeServiceError>) -> Void
    ) {
        state.withLock { state in
            let result = self.reading(read, principal, state.tree)
            notifier.async { completion(result) }
        }
    }

    private func reading(
        _ read: RealtimeRead, _ principal: RealtimePrincipal, _ tree: RealtimeTree
    ) -> Result<RealtimeReading, RealtimeServiceError> {
        guard principal.isAdmin || rules.mayRead(principal, read.path, read.query) else {
            return .failure(.permissionDenied)
        }
        if let error = unindexed(read.path, read.query), read.requiresIndex { return .failure(error) }
        var node = tree[read.path]
        let hasChildren = node.map { !$0.children.isEmpty } ?? false
        if let query = read.query { node = node?.matching(query) }
        var writer = JSONWriter()
        switch read.form {
        case .value where read.showsEmptyResult && node == nil && hasChildren: writer.raw("{}")
        case .shallow: writer.realtimeShallow(node)
        case .value(let form): writer.realtime(node, as: form)
        case .priority:
            node = node?.priority.map { RealtimeNode($0.leaf) }
            writer.realtime(node, as: .plain)
        }
        let hash = read.wantsHash ? node.hash : nil
        return .success(RealtimeReading(content(writer.bytes, read.countsUnits), hash: hash))
    }

    private func content(_ bytes: [UInt8], _ countsUnits: Bool) -> RealtimeContent {
        guard bytes.count > streamedBytes else { return .bytes(bytes) }
        let units = String(decoding: bytes, as: UTF8.self).utf16.count
        return .stream(InMemoryStream(bytes, notifier), units: countsUnits ? units : nil)
    }

    private func unindexed(_ path: RealtimePath, _ query: RealtimeQuery?) -> RealtimeServiceError? {
        guard let query, query.index != .key, query.index != .priority, !rules.isIndexed(path, query.index) else {
            return nil
        }
        return .query(.indexNotDefined(index: query.index.name, path: path))
    }

    func stage(
        _ text: UnsafeRawBufferPointer, at path: RealtimePath, as principal: RealtimePrincipal,
        for client: RealtimeClient, progress: @escaping (Int) -> Bool
    ) throws(RealtimeServiceError) -> RealtimeStaging { .needsMemory }

    // MARK: Listens

    func listen(
        _ listen: RealtimeListen, as principal: RealtimePrincipal, for client: RealtimeClient,
        to listener: any RealtimeListener
    ) -> any RealtimeListening {
        let listening = InMemoryListening(listen, principal, listener, self)
        state.withLock { state in
            guard principal.isAdmin || rules.mayRead(principal, listen.path, listen.query) else {
                return notifier.async { listener.receive(.ended(.permissionDenied)) }
            }
            let error = unindexed(listen.path, listen.query)
            if let error, listen.requiresIndex { return notifier.async { listener.receive(.ended(error)) } }
            state.listens[ObjectIdentifier(listening)] = listening
            let start = RealtimeListenStart(data(listen, in: state.tree), isIndexed: error == nil)
            notifier.async { listener.receive(.began(start)) }
        }
        return listening
    }

    private func data(_ listen: RealtimeListen, in tree: RealtimeTree) -> RealtimeListenStart.Data {
        var node = tree[listen.path]
        if let query = listen.query { node = node?.matching(query) }
        if let known = listen.known {
            if known.hash == node.hash { return .unchanged }
            if let compound = known.compound, let ranges = node.ranges(differingFrom: compound) {
                var writer = JSONWriter()
                writer.realtime(ranges)
                return .ranges(content(writer.bytes, listen.countsUnits))
            }
        }
        var writer = JSONWriter()
        writer.realtime(node, as: listen.form)
        return .value(content(writer.bytes, listen.countsUnits))
    }

    fileprivate func cancel(_ listening: InMemoryListening) {
        state.withLock { $0.listens[ObjectIdentifier(listening)] = nil }
    }

    fileprivate func authorize(
        _ listening: InMemoryListening, as principal: RealtimePrincipal, _ completion: @escaping @Sendable () -> Void
    ) {
        state.withLock { state in
            listening.principal.withLock { $0 = principal }
            if !principal.isAdmin, !rules.mayRead(principal, listening.listen.path, listening.listen.query) {
                revoke(listening, &state)
            }
            notifier.async(execute: completion)
        }
    }

    /// Ends all listens, as for a database that fails.
    func endListens(_ error: RealtimeServiceError) {
        state.withLock { state in
            for listening in state.listens.values {
                notifier.async { listening.listener.receive(.ended(error)) }
            }
            state.listens = [:]
        }
    }

    private func revoke(_ listening: InMemoryListening, _ state: inout State) {
        guard state.listens.removeValue(forKey: ObjectIdentifier(listening)) != nil else { return }
        notifier.async { listening.listener.receive(.ended(.permissionDenied)) }
    }

    // MARK: Writes

    func write(
        _ write: RealtimeWrite, _ options: RealtimeWriteOptions, as principal: RealtimePrincipal,
        for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void
    ) {
        state.withLock { state in
            let result = commit(write, options, principal, &state)
            notifier.async { completion(result) }
        }
    }

    private func commit(
        _ write: RealtimeWrite, _ options: RealtimeWriteOptions, _ principal: RealtimePrincipal, _ state: inout State
    ) -> Result<RealtimeWritten, RealtimeServiceError> {
        let before = state.tree
        var after = before
        let changes = write.resolved(now: now()) { before[$0]?.leaf }
        for change in changes { after.apply(change) }
        if !principal.isAdmin {
            let mayWrite = write.targets.allSatisfy { rules.mayWrite(principal, $0, before, after) }
            guard mayWrite else { return .failure(.permissionDenied) }
        }
        if case .set(let target, _, let hash?) = write {
            guard principal.isAdmin || rules.mayRead(principal, target.path, nil) else {
                return .failure(.permissionDenied)
            }
            guard before[target].hash == hash else { return .failure(.stale) }
        }
        state.tree = after
        push(from: before, to: after, state)
        let hash: String? =
            if case .set(let target, _, _) = write, options.wantsHash { after[target].hash } else { nil }
        return .success(RealtimeWritten(changes: options.wantsChanges ? changes : [], hash: hash))
    }

    /// Pushes a commit to each listen that sees it, and the same object to all that see the same.
    private func push(from before: RealtimeTree, to after: RealtimeTree, _ state: State) {
        let changes = before.root.changes(to: after.root)
        guard !changes.isEmpty else { return }
        var shared: [RealtimeTarget: RealtimePush] = [:]
        var pushes: [(any RealtimeListener, RealtimePush)] = []
        func put(_ target: RealtimeTarget, _ node: RealtimeNode?) -> RealtimePush {
            if let known = shared[target] { return known }
            let push = RealtimePush(target, .put(node))
            shared[target] = push
            return push
        }
        for listening in state.listens.values {
            let path = listening.listen.path
            var local = changes.compactMap { change -> RealtimeChange? in
                if let below = change.target.relative(to: path) { return RealtimeChange(below, change.node) }
                return change.target.contains(RealtimeTarget(path))
                    ? RealtimeChange(RealtimeTarget(.root), after[path]) : nil
            }
            if let query = listening.listen.query {
                local =
                    before[path]?.matching(query).changes(to: after[path]?.matching(query))
                    ?? (nil as RealtimeNode?).changes(to: after[path]?.matching(query))
            } else if local.contains(where: { $0.target == RealtimeTarget(.root) }), before[path] == after[path] {
                continue
            }
            guard let first = local.first else { continue }
            let push: RealtimePush =
                if local.count > 1 {
                    RealtimePush(path, .merge(local))
                } else if listening.listen.query == nil {
                    put(RealtimeTarget(path).appending(first.target), first.node)
                } else {
                    RealtimePush(RealtimeTarget(path).appending(first.target), .put(first.node))
                }
            pushes.append((listening.listener, push))
        }
        notifier.async { [pushes] in
            for (listener, push) in pushes { listener.receive(.push(push)) }
        }
    }

    // MARK: onDisconnect

    func onDisconnect(
        _ request: RealtimeDisconnectRequest, session: String, as principal: RealtimePrincipal,
        for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {
        state.withLock { state in
            var result: Result<Void, RealtimeServiceError> = .success(())
            switch request {
            case .cancel(let target):
                state.registrations[session, default: []].removeAll { registration in
                    registration.write.targets.allSatisfy { target.contains($0) }
                }
            case .write(let write):
                var after = state.tree
                after.apply(write, now: now())
                if principal.isAdmin
                    || write.targets.allSatisfy({ rules.mayWrite(principal, $0, state.tree, after) })
                {
                    state.registrations[session, default: []].append(Registration(principal: principal, write: write))
                } else {
                    result = .failure(.permissionDenied)
                }
            }
            notifier.async { [result] in completion(result) }
        }
    }

    func endSession(
        _ session: String, of client: RealtimeClient?, _ completion: @escaping @Sendable (_ isDone: Bool) -> Void
    ) {
        state.withLock { state in
            for registration in state.registrations.removeValue(forKey: session) ?? [] {
                _ = commit(registration.write, RealtimeWriteOptions(), registration.principal, &state)
            }
            notifier.async { completion(true) }
        }
    }

    // MARK: Settings

    func rulesSource() throws(RealtimeServiceError) -> RealtimeRulesSource { state.withLock { $0.rules } }

    func setRules(
        _ source: [UInt8], isDryRun: Bool,
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {
        state.withLock { state in
            guard source.first == UInt8(ascii: "{") else {
                let problem = RealtimeRulesProblem(line: 1, column: 1, message: "Rules are an object.")
                return notifier.async { completion(.failure(.rules(problem))) }
            }
            if !isDryRun {
                state.rules = RealtimeRulesSource(source: source, json: source)
                for listening in state.listens.values {
                    let principal = listening.principal.withLock { $0 }
                    if !principal.isAdmin, !rules.mayRead(principal, listening.listen.path, listening.listen.query) {
                        revoke(listening, &state)
                    }
                }
            }
            notifier.async { completion(.success(())) }
        }
    }

    func setting(_ name: String) -> [UInt8]? { state.withLock { $0.settings[name] } }

    func setSetting(
        _ name: String, _ json: [UInt8], _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {
        state.withLock { state in
            state.settings[name] = json
            notifier.async { completion(.success(())) }
        }
    }
}

final class InMemoryListening: RealtimeListening {
    let listen: RealtimeListen
    let principal: Mutex<RealtimePrincipal>
    let listener: any RealtimeListener
    private let database: InMemoryDatabase

    init(
        _ listen: RealtimeListen, _ principal: RealtimePrincipal, _ listener: any RealtimeListener,
        _ database: InMemoryDatabase
    ) {
        self.listen = listen
        self.principal = Mutex(principal)
        self.listener = listener
        self.database = database
    }

    func authorize(as principal: RealtimePrincipal, _ completion: @escaping @Sendable () -> Void) {
        database.authorize(self, as: principal, completion)
    }

    func cancel() { database.cancel(self) }
}

/// Hands out a value in pieces that end between characters.
final class InMemoryStream: RealtimeContentStream {
    private let bytes: [UInt8]
    private let position = Mutex(0)
    private let queue: DispatchQueue
    private let isCancelled = Mutex(false)

    private static let pieceBytes = 10_000

    init(_ bytes: [UInt8], _ queue: DispatchQueue) {
        self.bytes = bytes
        self.queue = queue
    }

    func next(_ completion: @escaping @Sendable (Result<[UInt8]?, RealtimeServiceError>) -> Void) {
        guard !isCancelled.withLock({ $0 }) else { return }
        let piece: [UInt8]? = position.withLock { position in
            guard position < bytes.count else { return nil }
            var end = min(position + Self.pieceBytes, bytes.count)
            while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
            defer { position = end }
            return Array(bytes[position..<end])
        }
        queue.async { completion(.success(piece)) }
    }

    func cancel() { isCancelled.withLock { $0 = true } }
}

extension JSONWriter {
    /// Appends a leaf as it is, and an object with `true` for each child: the form of `shallow=true`.
    fileprivate mutating func realtimeShallow(_ node: RealtimeNode?) {
        guard let node, node.leaf == nil else { return realtime(node, as: .plain) }
        raw("{")
        list(node.children) { writer, child in
            writer.key(child.key.string)
            writer.boolean(true)
        }
        raw("}")
    }
}
