/// What clients of the firestore port may have open, and what may wait for them. Sizes are in bytes.
package struct ClientLimits: Hashable, Sendable {
    package var grpc = GRPC()
    package var listen = Listen()
    package var write = Write()
    package var webChannel = WebChannel()

    package init() {}

    /// Connections of HTTP/2.
    package struct GRPC: Hashable, Sendable {
        /// Calls that one connection may have open.
        package var callsPerConnection = 1000
        /// Calls of all connections, and of one address.
        package var calls = 100_000
        package var callsPerClient = 20_000
        /// What a client may send on one call before it is read.
        package var window = 1 << 20
        /// A connection that is silent for so long is pinged, and closed after as long again.
        package var pingSeconds = 60
        /// A connection that has had no call for so long is closed; clients open another when they need one.
        package var idleSeconds = 300

        package init() {}
    }

    /// Listen streams, on both wires, and the store's listeners behind their targets.
    package struct Listen: Hashable, Sendable {
        package var targetsPerStream = 1000
        /// One message of a client.
        package var message = 1 << 20
        /// Answers to messages that may wait on one stream for its client.
        package var waitingAnswers = 1000
        /// Targets of all clients, and of one user or address.
        package var listeners = 20_000
        package var listenersPerClient = 2000
        /// Changes and their size that may wait for one target, and the size for all.
        package var waitingChanges = 1000
        package var waitingBytes = 16 << 20
        package var allWaitingBytes = 256 << 20
        /// The documents that limited queries keep, of all targets and of those of one client.
        package var allWindowBytes = 512 << 20
        package var windowBytesPerClient = 32 << 20
        /// How long per minute one client's targets may query again.
        package var refillSeconds = 2
        /// Changes that may wait for the listeners' thread in memory.
        package var backlog = 64 << 20

        package init() {}
    }

    /// Write streams, on both wires.
    package struct Write: Hashable, Sendable {
        /// Messages of one stream that may wait for their turn, and their size.
        package var waiting = 100
        package var waitingBytes = 16 << 20
        /// Answers that may wait on one stream of WebChannel for its client.
        package var waitingAnswers = 1000

        package init() {}
    }

    /// Sessions of the web SDK, each of which is one stream.
    package struct WebChannel: Hashable, Sendable {
        /// Sessions of all clients, and of one user or address.
        package var sessions = 10_000
        package var sessionsPerClient = 200
        /// How long a session waits for its client.
        package var patienceSeconds = 60
        /// How long an idle back channel is silent, and a long poll takes. The SDK takes one for dead after 45 s.
        package var keepAliveSeconds = 30
        /// What may wait for its acknowledgement before no more is taken from the stream.
        package var unacknowledged = 4 << 20
        /// What one back channel is sent: a client acknowledges only when it opens the next one.
        package var backChannel = 1 << 20
        /// What may wait for earlier messages of the client.
        package var early = 16 << 20

        package init() {}
    }
}
