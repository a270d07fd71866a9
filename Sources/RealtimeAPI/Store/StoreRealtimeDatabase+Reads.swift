import CommitPipeline
import DocumentModel
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import StrictJSON

extension StoreRealtimeDatabase {
    // MARK: Turns

    /// How long an operation may take, by which the threads differ that it waits for.
    enum Length {
        case short
        case long
    }

    /// Whose turn a read waits for.
    func reader(_ principal: RealtimePrincipal, _ client: RealtimeClient, _ length: Length) -> ReadCaller? {
        let caller = caller(principal, client)
        return switch length {
        case .long: .client(caller ?? Self.admins)
        case .short: caller.map { .clientGet($0) }
        }
    }

    /// Whose turn the decision on a write waits for.
    func writer(_ write: RealtimeWrite, _ principal: RealtimePrincipal, _ client: RealtimeClient) -> ReadCaller? {
        let caller = caller(principal, client)
        // Hashing what exists takes as long as that is large.
        guard write.isConditional || write.nodeCount > Self.maxShortNodes else { return caller.map { .clientGet($0) } }
        return .clientCommit(caller ?? Self.admins)
    }

    /// - Returns: nil for an admin.
    func caller(_ principal: RealtimePrincipal, _ client: RealtimeClient) -> UInt64? {
        guard case .client(let auth) = principal else { return nil }
        return auth?.uid.map { UInt64(truncatingIfNeeded: $0.hashValue) } ?? client.address
    }

    /// All admins together, in long reads.
    static let admins = UInt64.max
    static let maxShortNodes = 1_000
    /// What a short read may write. Whether a value has more is seen only when it is read.
    private static let maxShortBytes = 65_536

    private struct TooLong: Error {}

    // MARK: Reads

    func read(
        _ read: RealtimeRead, as principal: RealtimePrincipal, for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeReading, RealtimeServiceError>) -> Void
    ) {
        let completion = profiled(ProfiledOperation(read, of: client), completion) { $0.content.bytesInMemory }
        // A query without an index looks at more than it finds, and the hash of a node is that of all below it.
        guard read.query == nil, !(read.form == .shallow && read.wantsHash) else {
            return self.read(read, principal, client, .long) { completion($0 ?? .failure(.tooMuchToRead)) }
        }
        let isAllowed = access.allowsReadAtOnce(of: read.path, as: principal, now: shared.now(), observer)
        guard isAllowed != false else { return completion(.failure(.permissionDenied)) }
        var place: NodeCache.Place?
        if isAllowed == true, case .value(let form) = read.form {
            let found = store.nodes.find(read.path, in: name)
            if let known = found.known, !client.hasListened {
                let hash = read.wantsHash ? known.exactHash : nil
                return completion(.success(RealtimeReading(.bytes(known.json(as: form)), hash: hash)))
            }
            place = found.place
        }
        let isDecided = isAllowed != nil
        self.read(read, principal, client, .short, isDecided: isDecided, adding: place) { [self] result in
            if let result { return completion(result) }
            self.read(read, principal, client, .long, isDecided: isDecided) {
                completion($0 ?? .failure(.tooMuchToRead))
            }
        }
    }

    /// - Parameters:
    ///   - isDecided: whether the rules have already allowed it.
    ///   - place: where to add what is found.
    ///   - completion: receives nil if that is too long for a short read.
    private func read(
        _ read: RealtimeRead, _ principal: RealtimePrincipal, _ client: RealtimeClient, _ length: Length,
        isDecided: Bool = false, adding place: NodeCache.Place? = nil,
        _ completion: @escaping @Sendable (Result<RealtimeReading, RealtimeServiceError>?) -> Void
    ) {
        let (access, observer, now, spool) = (access, observer, shared.now(), shared.spool)
        let holder = holder(principal, client)
        store.read(
            in: name, of: reader(principal, client, length), cancellation: read.cancellation,
            isAnsweredAtOnce: { !client.hasListened },
            { [self] state -> Result<RealtimeReading, RealtimeServiceError>? in
                if !isDecided {
                    try access.requireRead(of: read.path, read.query, as: principal, in: state, now: now, observer)
                }
                if let error = missingIndex(read.query, read.path, state), read.requiresIndex {
                    return .failure(error)
                }
                do {
                    let isEmpty = try isEmptyResult(read, state)
                    var (bytes, rows) = (0, 0)
                    let content = try spool.collect(for: holder, until: read.cancellation) { receive in
                        func receivePiece(_ piece: [UInt8]) throws {
                            bytes += piece.count
                            if length == .short, bytes > Self.maxShortBytes { throw TooLong() }
                            try receive(piece)
                        }
                        switch read.form {
                        case .value where isEmpty: try receivePiece(Array("{}".utf8))
                        case .value(let form):
                            rows = try state.writeJSON(at: read.path, matching: read.query, as: form, receivePiece)
                        case .shallow: try state.writeShallowJSON(at: read.path, matching: read.query, receivePiece)
                        case .priority:
                            var writer = JSONWriter(capacity: 32)
                            let leaf = try state.priority(at: read.path)?.leaf
                            if let leaf { writer.realtime(leaf) } else { writer.null() }
                            try receivePiece(writer.bytes)
                        }
                    }
                    try place.map { try store.nodes.add(from: state, rows: rows, bytes: bytes, at: $0) }
                    let hash =
                        switch read.form {
                        case _ where !read.wantsHash: String?.none
                        case .priority: try state.hash(at: RealtimeTarget(read.path, isPriority: true), isExact: true)
                        case .value, .shallow: try state.hash(at: read.path, matching: read.query, isExact: true)
                        }
                    return .success(RealtimeReading(content, hash: hash, version: state.version))
                } catch is TooLong {
                    return nil
                }
            },
            completion: { [name] result in
                switch result {
                case .success(let inner): completion(inner)
                case .failure(let failure): completion(.failure(RealtimeServiceError(failure, of: name)))
                }
            })
    }

    private func isEmptyResult(_ read: RealtimeRead, _ state: RealtimeSnapshot) throws -> Bool {
        guard read.showsEmptyResult, let query = read.query, !query.loadsAll else { return false }
        return try state.matches(of: query, at: read.path).entries.isEmpty && state.hasChildren(at: read.path)
    }
}
