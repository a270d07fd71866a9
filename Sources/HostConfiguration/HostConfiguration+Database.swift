extension HostConfiguration {
    /// The Realtime Database.
    package struct Database: Hashable, Sendable {
        /// The namespaces that exist in production beside the project's default one. In development each exists from its first
        /// use.
        package var namespaces: [String] = []
        /// How long the host waits after its start for clients that were connected before, in seconds, until it runs what they
        /// have registered for their disconnection.
        package var disconnectSeconds = 60
        /// The listens of a connection.
        package var listens = 10_000
        /// The bytes that the listens of all connections take. A connection with up to 64 KiB doesn't count.
        package var listenMemory = 512 << 20
        /// The requests of a connection that may wait; beyond them it isn't read from.
        package var waitingRequests = 1000
        /// The bytes of changes that a client hasn't read, or that passed an unanswered get: with more, its connection ends.
        package var unreadPushes = 4 << 20
        /// The bytes of a message.
        package var message = 16 << 20
        /// The nodes that a query without an index may look at.
        package var unindexedNodes = 1_000_000

        package init() {}
    }

    /// The namespace that clients use if they name no other.
    package var defaultNamespace: String { project + "-default-rtdb" }

    /// The namespaces that are known before their first use.
    package var databaseNames: [String] { [defaultNamespace] + database.namespaces.filter { $0 != defaultNamespace } }
}
