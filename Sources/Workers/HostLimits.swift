/// Bounds that keep one caller from using up the whole host.
package struct HostLimits: Hashable, Sendable {
    /// Bytes of one request's body.
    package var requestBody = 10 * 1024 * 1024
    /// Invocations that may wait for a worker, for each function.
    package var queue = 1000
    /// Open connections on each port.
    package var connections = 10_000
    /// The number of seconds in which running invocations may finish when the host stops.
    package var shutdownGrace = 10
    /// The maximum length of a chain of events that cause events; a longer one is considered a loop.
    package var eventDepth = 16
    /// Bytes of an answer that isn't streamed.
    package var responseBody = 32 * 1024 * 1024
    /// Bytes of all bodies that are being received or answered on all ports, and of all answers that wait for their
    /// clients.
    package var allBodies = 128 * 1024 * 1024
    package var allAnswers = 128 * 1024 * 1024
    /// The number of seconds in which a request must arrive whole.
    package var transferSeconds = 60
    /// Files and connections that a worker may have open.
    package var openFiles = 1024
    /// Processes that a worker may consist of: itself and those it has started.
    package var processes = 32
    package var cgroups = Cgroups.auto
    /// Entries of indexes and documents that one query of a client may read, and for how many seconds.
    package var queryEntries = 5_000_000
    package var queryDocuments = 100_000
    package var querySeconds = 10
    /// Documents and index entries that one commit of a client may change.
    package var commitChanges = 50_000
    /// Bytes of document operations under way, with their answers, of one worker and of all.
    package var workerBytes = 32 * 1024 * 1024
    package var allWorkersBytes = 128 * 1024 * 1024

    package init() {}

    /// Whether workers get cgroups of their own.
    package enum Cgroups: String, Hashable, Sendable, CaseIterable {
        /// If the host may create them.
        case auto
        case off
    }
}
