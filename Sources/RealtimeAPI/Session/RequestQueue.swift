import DequeModule

/// The requests of one client: those that wait, and those under way with their answers.
///
/// Requests begin in their order, and their answers keep it. Requests of one kind may be under way together.
struct RequestQueue {
    typealias OperationID = RealtimeSession.OperationID

    struct Started {
        var id: OperationID
        /// Nil for what isn't a message.
        var number: Int64?
        var request: RealtimeRequest
    }

    private struct Waiting {
        var number: Int64?
        var request: RealtimeRequest
        var bytes: Int
    }

    private struct Running {
        enum State {
            case underWay
            /// The database had no room for the request, and is asked again after a time.
            case postponed
            /// The answer waits for those before it.
            case answered(RequestAnswer)
            /// The database couldn't perform the request. It isn't asked again, and the client gets no answer.
            case failed
        }

        var id: OperationID
        var number: Int64?
        var kind: RealtimeRequest.Kind
        var bytes: Int
        /// Whether the database holds the message's values until it has answered.
        var hasValues: Bool
        /// What the database is asked again; nil for what it is asked once only.
        var request: RealtimeRequest?
        var attempts = 1
        var state = State.underWay

        var isHeldByDatabase: Bool { if case .underWay = state { hasValues } else { false } }
    }

    /// The pauses before a request is begun again, in milliseconds: half a minute together.
    private static let pauses: [Int64] = [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]

    private let limits: RealtimeConnectionLimits
    private var waiting: Deque<Waiting> = []
    private var waitingBytes = 0
    private var running: Deque<Running> = []
    private var runningBytes = 0
    private var lastID: OperationID = 0
    /// Whether a request has failed. None is begun any more.
    private var hasFailed = false
    /// Whether the client has to take earlier values before more is read for it.
    var isBackedUp = false

    init(_ limits: RealtimeConnectionLimits) { self.limits = limits }

    /// Whether no more should be read for now.
    var isFull: Bool { waiting.count >= limits.waitingRequests || waitingBytes >= limits.waitingBytes }

    /// Whether more waits than can have been on its way when reading paused: a client that polls has two requests at a time.
    var isOverfull: Bool {
        waiting.count > limits.waitingRequests + 2 * LongPollRequest.maxSegments
            || waitingBytes > 2 * limits.waitingBytes
    }

    /// The bytes of messages whose requests aren't answered.
    var bytes: Int { waitingBytes + runningBytes }

    /// Whether reading may go on.
    var hasRoom: Bool { waiting.count <= limits.waitingRequests / 2 && waitingBytes <= limits.waitingBytes / 2 }

    /// - Parameters:
    ///   - number: nil for what isn't a message.
    ///   - bytes: the message's length.
    mutating func append(_ number: Int64?, _ request: RealtimeRequest, bytes: Int = 0) {
        waiting.append(Waiting(number: number, request: request, bytes: bytes))
        waitingBytes += bytes
    }

    /// Begins the next request.
    ///
    /// - Returns: nil if there is none, or if it has to wait.
    mutating func startNext() -> Started? {
        guard let next = waiting.first, mayStart(next.request.kind) else { return nil }
        waiting.removeFirst()
        waitingBytes -= next.bytes
        lastID += 1
        let hasValues: Bool
        switch next.request {
        case .write, .onDisconnect: hasValues = true
        default: hasValues = false
        }
        running.append(
            Running(
                id: lastID, number: next.number, kind: next.request.kind, bytes: next.bytes, hasValues: hasValues,
                request: next.request.mayBeRepeated ? next.request : nil))
        runningBytes += next.bytes
        return Started(id: lastID, number: next.number, request: next.request)
    }

    private func mayStart(_ kind: RealtimeRequest.Kind) -> Bool {
        if hasFailed || isBackedUp && (kind == .listen || kind == .get) { return false }
        guard let last = running.last else { return true }
        guard last.kind == kind else { return false }
        return switch kind {
        case .listen, .get: running.count < limits.concurrentReads
        case .write: running.count < limits.concurrentWrites && runningBytes < limits.waitingBytes
        case .other: false
        }
    }

    /// - Returns: false if the request isn't under way.
    @discardableResult
    mutating func answer(_ id: OperationID, _ answer: RequestAnswer) -> Bool {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return false }
        running[index].state = .answered(answer)
        running[index].request = nil
        return true
    }

    /// The database had no room for a request, or has failed.
    ///
    /// - Returns: within how many milliseconds it is begun again; nil if it isn't. Then those before it are still answered, no
    ///   other is begun, and ``mustEnd`` becomes true.
    mutating func postpone(_ id: OperationID) -> Int64? {
        guard let index = running.firstIndex(where: { $0.id == id }), case .underWay = running[index].state else {
            return nil
        }
        guard running[index].request != nil, running[index].attempts <= Self.pauses.count else {
            running[index].state = .failed
            running[index].request = nil
            hasFailed = true
            return nil
        }
        running[index].state = .postponed
        running[index].attempts += 1
        return Self.pauses[running[index].attempts - 2]
    }

    /// Begins a request again.
    ///
    /// - Returns: nil if it needn't be.
    mutating func resume(_ id: OperationID) -> RealtimeRequest? {
        guard let index = running.firstIndex(where: { $0.id == id }), case .postponed = running[index].state else {
            return nil
        }
        running[index].state = .underWay
        return running[index].request
    }

    /// Whether the request that would be answered next has no answer.
    var mustEnd: Bool { if case .failed? = running.first?.state { true } else { false } }

    /// Takes the next answer that waits for no earlier one.
    mutating func takeAnswer() -> (id: OperationID, number: Int64?, answer: RequestAnswer)? {
        guard let first = running.first, case .answered(let answer) = first.state else { return nil }
        running.removeFirst()
        runningBytes -= first.bytes
        return (first.id, first.number, answer)
    }

    /// Forgets all requests but those whose values the database still holds: ``remove(_:)`` forgets them once it has
    /// answered.
    mutating func end() {
        waiting = []
        waitingBytes = 0
        running.removeAll { !$0.isHeldByDatabase }
        runningBytes = running.reduce(0) { $0 + $1.bytes }
    }

    /// Forgets a request that is under way.
    mutating func remove(_ id: OperationID) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        runningBytes -= running.remove(at: index).bytes
    }
}

/// What a request is answered.
enum RequestAnswer: Sendable {
    case done
    case listening(isIndexed: Bool)
    /// The client is who it says.
    case authenticated(RealtimePrincipal)
    case value(RealtimeContent)
    case failure(RealtimeServiceError)
}
