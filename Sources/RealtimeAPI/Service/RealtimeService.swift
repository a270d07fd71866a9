package import DocumentModel
package import RealtimeModel

/// The databases behind the wire: a store with its rules.
package protocol RealtimeService: Sendable {
    /// A database by the name of its namespace.
    ///
    /// In development it exists from its first use; in production the configuration names it.
    ///
    /// - Throws: `unknownDatabase`, or `unavailable` once the host stops.
    func database(_ name: String) throws(RealtimeServiceError) -> any RealtimeDatabase

    /// The names of all databases, in their order.
    func databaseNames() throws(RealtimeServiceError) -> [String]
}

/// One database.
///
/// The functions return at once. Completions and listeners are called on any thread, and they don't block. The calls follow
/// one order for the whole database, that of commits:
///
/// 1. Each listener that sees a commit receives its push before the commit's completion is called. So a client has its own
///    change before the answer to it.
/// 2. A write that is `stale` completes after the pushes of all commits that made it so.
/// 3. A listen begins with the state of one version, and has the pushes of all later versions, none twice.
///
/// A caller that hands over what it receives in the order of the calls, as to one queue, keeps these promises.
package protocol RealtimeDatabase: AnyObject, Sendable {
    /// For admins who watch what clients do.
    var profile: DatabaseProfile { get }

    /// Reads a value. Rules are decided before anything about the value is known, also its hash or that a query lacks an
    /// index.
    ///
    /// A read that began before a commit may be of a state without it, although listeners were notified of it: compare the
    /// versions.
    func read(
        _ read: RealtimeRead, as principal: RealtimePrincipal, for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeReading, RealtimeServiceError>) -> Void)

    /// Begins a listen. Its first event, which may come before the function returns, is the answer to the request.
    func listen(
        _ listen: RealtimeListen, as principal: RealtimePrincipal, for client: RealtimeClient,
        to listener: any RealtimeListener
    ) -> any RealtimeListening

    /// Writes in one commit. The completion comes once the commit is durable.
    ///
    /// A client's writes are decided on and committed in the order of the calls, each as if all before it were committed or
    /// refused. So they needn't wait for each other.
    ///
    /// With a condition, the principal must also be allowed to read the place: otherwise its value could be guessed.
    func write(
        _ write: RealtimeWrite, _ options: RealtimeWriteOptions, as principal: RealtimePrincipal,
        for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void)

    /// Takes in a large value before it is written, so that it isn't held in memory.
    ///
    /// Blocks the calling thread until the value's rows are durable.
    ///
    /// - Parameters:
    ///   - text: the value as JSON.
    ///   - principal: who will write it. The write is decided on later, but one that the rules deny for any value is
    ///     refused now, before anything of it is stored. The client's earlier writes must have been answered.
    ///   - progress: called from time to time with the number of bytes that aren't needed any more. False ends staging.
    func stage(
        _ text: UnsafeRawBufferPointer, at path: RealtimePath, as principal: RealtimePrincipal,
        for client: RealtimeClient, progress: @escaping (Int) -> Bool
    ) throws(RealtimeServiceError) -> RealtimeStaging

    /// Registers or cancels what happens at the end of a session. The completion comes once that is durable.
    ///
    /// The rules are decided now and again at the end of the session, in the name of the same principal.
    func onDisconnect(
        _ request: RealtimeDisconnectRequest, session: String, as principal: RealtimePrincipal,
        for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void)

    /// Ends a session: performs what is registered for it, in the order of registration, and forgets it. Unknown sessions,
    /// also those of another database, are ignored.
    ///
    /// - Parameters:
    ///   - client: the session's connection, whose earlier writes come first; nil for one that has ended.
    ///   - completion: called once all is done. What fails by the rules is skipped. Receives false if something couldn't be
    ///     done yet: that is retried.
    func endSession(
        _ session: String, of client: RealtimeClient?, _ completion: @escaping @Sendable (_ isDone: Bool) -> Void)

    /// The rules' source with its comments.
    func rulesSource() throws(RealtimeServiceError) -> RealtimeRulesSource

    /// Replaces the rules. Once the completion is called they hold for all requests, and listens that they don't allow have
    /// ended.
    ///
    /// - Parameter isDryRun: whether the source is only compiled.
    func setRules(
        _ source: [UInt8], isDryRun: Bool,
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void)

    /// A setting by its name, as JSON; nil if there is no such setting.
    func setting(_ name: String) -> [UInt8]?

    /// Changes a setting.
    func setSetting(
        _ name: String, _ json: [UInt8],
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void)
}

/// What happens at the end of a session.
package enum RealtimeDisconnectRequest: Sendable {
    /// The write's server values are computed when it is performed. It has no condition.
    case write(RealtimeWrite)
    /// Forgets what is registered at a place and below it.
    case cancel(RealtimeTarget)
}

/// What has become of a large value that was staged.
package enum RealtimeStaging {
    case value(RealtimeWriteValue)
    /// The text isn't a value.
    case invalid(RealtimeError)
    /// The value must be read into memory and written so.
    case needsMemory
}

/// How a write is made.
package struct RealtimeWriteOptions: Sendable {
    /// Nil for what the database's setting says.
    package var sizeLimit: WriteSizeLimit?
    /// Whether functions aren't triggered. Only admins may ask for it.
    package var disablesTriggers = false
    /// Whether the exact hash of what exists after the write is wanted. An update has none.
    package var wantsHash = false
    /// Whether the changes are wanted as they were committed.
    package var wantsChanges = false
    /// Cancelled once the client has left. A large value isn't written then; what was sent of small ones is.
    package var cancellation: OperationCancellation?

    package init() {}
}

/// A committed write.
package struct RealtimeWritten: Sendable {
    /// With the server values computed, from the root; empty if they aren't wanted.
    package var changes: [RealtimeChange]
    /// A staged value that is wanted, in the form in which REST answers writes.
    package var content: RealtimeContent?
    package var hash: String?

    package init(changes: [RealtimeChange] = [], hash: String? = nil) {
        self.changes = changes
        self.hash = hash
    }
}

/// Rules as they were uploaded.
package struct RealtimeRulesSource: Sendable {
    package var source: [UInt8]
    /// The same as JSON without comments.
    package var json: [UInt8]

    package init(source: [UInt8], json: [UInt8]) {
        self.source = source
        self.json = json
    }
}
