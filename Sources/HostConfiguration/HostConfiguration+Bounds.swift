package import DocumentStore

extension HostConfiguration.Store {
    /// What of the past is kept, whoever opens the store.
    package var bounds: StoreConfiguration {
        var bounds = StoreConfiguration()
        bounds.historyRetention = .seconds(historySeconds)
        bounds.maxHistoryBytes = historyMiB << 20
        return bounds
    }
}
