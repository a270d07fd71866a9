package import CommitPipeline
package import DocumentModel
package import RealtimeModel

extension RealtimeStore {
    /// Follows a path, or the children there that match a query.
    ///
    /// The initial data are read first, in one state; then each later change follows, none left out and none twice.
    /// For a listener with a query, the changes of several commits may come as one when there are very many. All closures
    /// but the first are called on the listeners' thread, so they must be quick.
    ///
    /// - Parameters:
    ///   - caller: whose turn the read waits for.
    ///   - cancellation: set once the initial data aren't wanted any more.
    ///   - read: reads the initial data, or compares what the client has.
    ///   - started: receives the result. If it is a failure, the listener has ended.
    ///   - receive: receives changes.
    ///   - failed: called if the listener has ended because its changes can't be read.
    package func listen<Initial: Sendable>(
        to path: RealtimePath, matching query: RealtimeQuery? = nil, in namespace: String, of caller: ReadCaller? = nil,
        cancellation: OperationCancellation? = nil,
        read: @escaping @Sendable (RealtimeSnapshot) throws -> Initial,
        started: @escaping @Sendable (Result<Initial, RealtimeFailure>) -> Void,
        receive: @escaping @Sendable (RealtimePush) -> Void,
        failed: @escaping @Sendable (RealtimeFailure) -> Void = { _ in }
    ) -> RealtimeListener {
        let core = ListenerCore(
            id: hub.makeID(), namespace: namespace, path: path, query: query, caller: caller, receive: receive,
            failed: failed)
        // Before the state is read, so that no commit after it is missed.
        hub.add(core)
        let job = ListenReadJob(
            store: self, core: core, cancellation: cancellation, read: read, started: started)
        pipeline.read(job, of: caller, limit: pipeline.configuration.maxWaiting)
        return RealtimeListener(id: core.id, hub: hub)
    }

    /// The number of listeners.
    package var listenerCount: Int { hub.listenerCount }
}
