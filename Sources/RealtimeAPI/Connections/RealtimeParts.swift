package import Logging
package import NIOCore
package import NIOHTTP1
import RealtimeModel
package import Sharing

/// What the database port is made of.
package struct RealtimeParts: Sendable {
    /// Why a request isn't answered at all, such as that it is for a host of another name.
    package struct Refusal: Hashable, Sendable {
        package var status: HTTPResponseStatus
        package var message: String

        package init(status: HTTPResponseStatus, message: String) {
            self.status = status
            self.message = message
        }
    }

    package var service: any RealtimeService
    package var credentials: RealtimeCredentials
    package var limits: RealtimeConnectionLimits
    package var port: RealtimePortLimits {
        didSet { polls = PollSessions(port.pollingSessions) }
    }
    package var databaseNames: DatabaseNames
    package var refusal: @Sendable (HTTPRequestHead) -> Refusal?
    /// Whether a page of another site sent a request. It can't be the owner.
    package var isForeign: @Sendable (HTTPRequestHead) -> Bool
    /// A number that stands for the address of a request's client.
    package var address: @Sendable (SocketAddress?, HTTPHeaders) -> UInt64
    /// The memory of bodies and messages that have come in part; nil for no bound.
    package var bodies: MemoryBudget?
    /// The memory of what clients haven't read yet; nil for no bound.
    package var answers: MemoryBudget?
    /// The memory of sessions' listens; nil for no bound. A session with up to 64 KiB doesn't count.
    package var listenMemory: MemoryBudget?
    /// Where large bodies wait until they are whole; nil to keep them in memory.
    package var spool: Spool?
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64
    package var logger: Logger
    let sessions = RealtimeSessions()
    private(set) var polls: PollSessions
    let pushIDs = PushNames()
    /// Reads large messages and bodies: of one address after the other.
    let longWork = FairWork("realtime.bodies")
    /// Reads very large bodies, which may take long. ``largeWrites`` says which is the next.
    let largeWork = LongWork("realtime.staging")
    /// Very large writes of REST, one after the other: those that are read into memory take several times that of their
    /// text. Addresses take turns.
    let largeWrites = Gate()

    package init(
        service: any RealtimeService, credentials: RealtimeCredentials, databaseNames: DatabaseNames = .init(),
        limits: RealtimeConnectionLimits = .init(), port: RealtimePortLimits = .init(),
        bodies: MemoryBudget? = nil, answers: MemoryBudget? = nil, listenMemory: MemoryBudget? = nil,
        spool: Spool? = nil,
        refusal: @escaping @Sendable (HTTPRequestHead) -> Refusal? = { _ in nil },
        isForeign: @escaping @Sendable (HTTPRequestHead) -> Bool = { _ in false },
        address: @escaping @Sendable (SocketAddress?, HTTPHeaders) -> UInt64 = { _, _ in 0 },
        now: @escaping @Sendable () -> Int64, logger: Logger
    ) {
        self.service = service
        self.credentials = credentials
        self.databaseNames = databaseNames
        self.limits = limits
        self.port = port
        polls = PollSessions(port.pollingSessions)
        self.bodies = bodies
        self.answers = answers
        self.listenMemory = listenMemory
        self.spool = spool
        self.refusal = refusal
        self.isForeign = isForeign
        self.address = address
        self.now = now
        self.logger = logger
    }
}

/// The bounds of the port.
package struct RealtimePortLimits: Sendable {
    /// Sessions of long polling on all loops. Each has a connection only at times, but takes as much as one.
    package var pollingSessions = 100_000
    /// The bytes of a request's body.
    package var bodyBytes = RealtimeLimits.maxRESTWriteBytes
    /// For a request to arrive, up to its first 64 KiB and then for each further part.
    package var transfer = TimeAmount.seconds(60)
    /// Without a request, or for a client to take something of its answer.
    package var idle = TimeAmount.seconds(75)
    /// How long a poll is held.
    package var hold = TimeAmount.seconds(20)
    /// How long a polling session lives without a poll.
    package var pollSilence = TimeAmount.seconds(60)
    /// Between two signs of life of a stream.
    package var keepAlive = TimeAmount.seconds(30)
    /// How long the client of a WebSocket that ends has to close.
    package var closing = TimeAmount.seconds(5)
    /// Until a connection closes whose requests find no room in the database, at most.
    package var overload = TimeAmount.seconds(4)

    package init() {}
}
