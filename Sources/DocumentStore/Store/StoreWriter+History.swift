import StorageEngine
import DocumentModel

extension StoreWriter {
    /// Removes what is no longer kept of the change log, in steps that keep up with what comes in.
    func trimHistory(_ storage: any StorageWriter) throws {
        let configuration = store.configuration
        let retention = configuration.historyRetention.components
        let kept = retention.seconds * 1_000_000 + retention.attoseconds / 1_000_000_000_000
        let old = min(store.now().microseconds - kept, spared)
        let changes = batch.reduce(0) { $0 + $1.count }
        let added = history.bytes - durableHistory.bytes
        isTrimBehind = try history.trim(
            upTo: old, spared: spared, maxBytes: configuration.maxHistoryBytes, atMost: 2 * changes + 64,
            orBytes: 2 * added, in: storage)
        if history != durableHistory { try history.write(to: storage) }
    }

    /// Tells who waits for commits what is durable now.
    func publish() {
        guard durableVersion != publishedVersion else { return }
        publishedVersion = durableVersion
        if let last = batch.last?.last { store.signal.publish(last.version) }
        store.listeners.offer(batch, upTo: durableVersion)
        batch = []
    }
}
