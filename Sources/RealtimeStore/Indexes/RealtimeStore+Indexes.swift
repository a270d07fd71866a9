import RealtimeModel

extension RealtimeStore {
    /// As `configureIndexes(_:in:)`, without a task. The calls are carried out in their order.
    package func configureIndexes(
        _ definitions: [RealtimeIndexDefinition], in namespace: String,
        completion: @escaping @Sendable (Result<Void, RealtimeFailure>) -> Void
    ) {
        let needed = definitions.filter { $0.index != .key && $0.index != .priority }
        change({ kind, _ in kind.update(namespace) { record, _ in record.configure(needed) } }, completion: completion)
    }
}
