import CommitPipeline
import DocumentModel
import DocumentStore
import Workers
import DequeModule

/// Which of a function's deliveries are worked on and when more of them are read, as a pure state machine.
///
/// What is due is started in the order in which it became so. Memory holds a bounded part of it: while the store has
/// more that is due, what is news goes there only and is read in its turn.
package struct DeliveryQueueState: Equatable {
    enum Action: Equatable, Sendable {
        case start(StoredDelivery)
        /// Read what is due, and call ``read(_:now:)`` or ``readFailed(now:)``.
        case read(Request)
        /// Call ``tick(for:now:)`` then.
        case wake(at: Timestamp)
    }

    struct Request: Equatable, Sendable {
        var except: Set<EventID>
        var limit: Int
        var maxBytes: Int
    }

    /// What was read.
    struct Page: Equatable, Sendable {
        var deliveries: [StoredDelivery] = []
        var hasMore = false
        var nextDue: Timestamp?
    }

    package struct Limits: Equatable, Sendable {
        /// Deliveries that are worked on at once, and bytes of their events.
        package var concurrency: Int
        var maxBytes = 16 << 20
        /// Due deliveries that wait in memory, and bytes of their events.
        var buffered = 256
        var bufferedBytes = 1 << 20
        /// As many are read at once at most: readers are shared by all functions and by documents.
        var page = 64
        /// Starts a second; nil for no bound.
        var rate: Double?
    }

    private enum Phase: Equatable {
        case closed, open, stopped
    }

    /// What came while a page was being read.
    private struct Arrivals: Equatable {
        var deliveries: [StoredDelivery] = []
        var bytes = 0
        /// Whether something was left out.
        var areIncomplete = false

        mutating func add(_ stored: StoredDelivery, _ limits: Limits) {
            guard !areIncomplete, deliveries.count < limits.page,
                deliveries.isEmpty || bytes + stored.event.count <= limits.bufferedBytes
            else { return areIncomplete = true }
            deliveries.append(stored)
            bytes += stored.event.count
        }
    }

    private enum Reading: Equatable {
        case none
        case underWay(Arrivals)
        /// The page that is being read is discarded: it may hold deliveries as they were before a change by hand.
        case stale
        case failed(again: Timestamp)
    }

    private var limits: Limits
    private var phase = Phase.closed
    private var buffer: Deque<StoredDelivery> = []
    private var bufferedIDs: Set<EventID> = []
    private var bufferedBytes = 0
    /// What is worked on, with the bytes of each event.
    private var inFlight: [EventID: Int] = [:]
    private var inFlightBytes = 0
    /// Whether the store may have due deliveries that aren't here.
    private var hasMore = true
    private var reading = Reading.none
    /// The earliest time at which something is known to become due.
    private var nextDue: Timestamp?
    private var bucket: TokenBucket?
    private var nextWake: Timestamp?
    /// Those whose process ended while it ran several: one of them may be why, so each is worked on alone.
    private var suspects: Set<EventID> = []
    /// How often in a row no handler could be started, since when, and when the next attempt may be made.
    private var misstarts = 0
    private(set) var failingSince: Timestamp?
    private var mayStartAt: Timestamp?
    /// What is to show whether a handler can be started by now.
    private var probe: EventID?

    /// Ticks are never asked for further ahead, in seconds: the wall clock may be set meanwhile.
    private static let longestSleep = 60.0

    init(limits: Limits) {
        self.limits = limits
        bucket = limits.rate.map { TokenBucket(perSecond: $0) }
    }

    var inFlightCount: Int { inFlight.count }
    func isInFlight(_ event: EventID) -> Bool { inFlight[event] != nil }
    /// Deliveries in memory that aren't worked on yet.
    var bufferedCount: Int { buffer.count }

    // MARK: What happens

    /// Other limits hold from now on, for what starts then.
    mutating func limit(to limits: Limits, now: Timestamp) -> [Action] {
        if limits.rate != self.limits.rate { bucket = limits.rate.map { TokenBucket(perSecond: $0) } }
        self.limits = limits
        // A new release may start where the last one didn't.
        mayStartAt = nil
        return advance(now)
    }

    /// Deliveries may be worked on from now on.
    mutating func opened(now: Timestamp) -> [Action] {
        guard phase == .closed else { return [] }
        phase = .open
        // What failed or came back before may go well by now.
        if case .failed = reading { reading = .none }
        mayStartAt = nil
        return advance(now)
    }

    /// Nothing is started any more until it is opened again; what runs goes on.
    mutating func closed() {
        guard phase == .open else { return }
        phase = .closed
        forget()
    }

    /// Nothing is started ever again.
    mutating func stopped() {
        phase = .stopped
        forget()
    }

    /// What a durable commit brought: deliveries that are due, and when one is due later.
    mutating func arrived(_ due: [StoredDelivery], later: Timestamp?, now: Timestamp) -> [Action] {
        if let later { noteDue(later) }
        guard isOpen else {
            hasMore = true
            return []
        }
        for stored in due { take(stored) }
        return advance(now)
    }

    /// Deliveries were changed by hand and aren't due any more.
    mutating func withdrawn(_ events: Set<EventID>) {
        // The page that is being read may hold them as they were.
        if case .underWay = reading { reading = .stale }
        suspects.subtract(events)
        guard !bufferedIDs.isDisjoint(with: events) else { return }
        buffer.removeAll { events.contains($0.delivery.id.event) }
        bufferedIDs.subtract(events)
        bufferedBytes = buffer.reduce(0) { $0 + $1.event.count }
    }

    mutating func read(_ page: Page, now: Timestamp) -> [Action] {
        let before = reading
        reading = .none
        guard case .underWay(let arrivals) = before, isOpen else {
            hasMore = true
            return advance(now)
        }
        if let due = page.nextDue { noteDue(due) }
        // What was said while it was read isn't known to be in it.
        hasMore = hasMore || page.hasMore
        for stored in page.deliveries { add(stored) }
        // What isn't here though all there is was read is over, by a commit before its process was lost.
        if !hasMore, page.nextDue == nil {
            suspects = suspects.filter { bufferedIDs.contains($0) || inFlight[$0] != nil }
        }
        // What came while there was more to read comes in its turn.
        if hasMore || arrivals.areIncomplete {
            hasMore = true
        } else {
            for stored in arrivals.deliveries { take(stored) }
        }
        return advance(now)
    }

    mutating func readFailed(now: Timestamp) -> [Action] {
        let wasStale = reading == .stale
        reading = wasStale ? .none : .failed(again: now.after(seconds: 1))
        hasMore = true
        return advance(now)
    }

    /// The attempt at a delivery is over, and its outcome is in the store.
    ///
    /// - Parameter due: when the next attempt is due. Pages that were read before have left it out.
    mutating func ended(_ event: EventID, due: Timestamp? = nil, now: Timestamp) -> [Action] {
        drop(event)
        suspects.remove(event)
        if let due { noteDue(due) }
        return advance(now)
    }

    /// A delivery wasn't worked on, and is as it was. It is read again before long.
    mutating func returned(_ event: EventID, now: Timestamp) -> [Action] {
        release(event)
        if reading == .none { reading = .failed(again: now.after(seconds: 1)) }
        return advance(now)
    }

    /// The process ended while it was at several deliveries, this one among them. It is worked on again, alone.
    mutating func lostInCompany(_ event: EventID, now: Timestamp) -> [Action] {
        release(event)
        suspects.insert(event)
        return advance(now)
    }

    /// No handler could be started for a delivery, which isn't the delivery's fault. One is attempted at a time, after
    /// ever longer pauses, until one starts.
    mutating func misstarted(_ event: EventID, now: Timestamp) -> [Action] {
        release(event)
        // Those that were to start together have one reason.
        if mayStart(now) {
            misstarts += 1
            failingSince = failingSince ?? now
            mayStartAt = now.after(seconds: min(Double(1 << min(misstarts - 1, 6)), Self.longestSleep))
        }
        return advance(now)
    }

    /// A handler has started, after others could not be.
    mutating func started(now: Timestamp) -> [Action] {
        (misstarts, failingSince, mayStartAt, probe) = (0, nil, nil, nil)
        return advance(now)
    }

    /// - Parameter wake: the time for which it was asked. It may come early, or by a clock that was put back: then
    ///   another one is asked for. One for which an earlier one was asked since does nothing to that.
    mutating func tick(for wake: Timestamp, now: Timestamp) -> [Action] {
        if nextWake == wake { nextWake = nil }
        return advance(now)
    }

    // MARK: Parts

    private var isOpen: Bool { phase == .open }

    /// Whether what is worked on is to be alone.
    private var isAlone: Bool { inFlight.count == 1 && inFlight.keys.first.map { suspects.contains($0) } == true }

    private mutating func noteDue(_ time: Timestamp) { nextDue = min(nextDue ?? time, time) }

    private mutating func drop(_ event: EventID) {
        if let bytes = inFlight.removeValue(forKey: event) { inFlightBytes -= bytes }
        if probe == event { probe = nil }
    }

    /// Of one that isn't to be worked on as before: it is in the store, and read in its turn.
    private mutating func release(_ event: EventID) {
        drop(event)
        hasMore = true
    }

    private mutating func forget() {
        buffer = []
        bufferedIDs = []
        bufferedBytes = 0
        hasMore = true
        if case .underWay = reading { reading = .stale }
    }

    /// Takes news: where nothing older is left in the store it comes behind what is here, else it stays there.
    private mutating func take(_ stored: StoredDelivery) {
        if case .underWay(var arrivals) = reading {
            reading = .none
            arrivals.add(stored, limits)
            reading = .underWay(arrivals)
        } else if hasMore || !hasRoom(for: stored) || inFlight[stored.delivery.id.event] != nil {
            // A delivery that is still in flight here was given back a moment ago; its end is reported here soon.
            hasMore = true
        } else {
            add(stored)
        }
    }

    /// An event of any size has room if there is nothing else.
    private func hasRoom(for stored: StoredDelivery) -> Bool {
        buffer.count < limits.buffered
            && (buffer.isEmpty || bufferedBytes + stored.event.count <= limits.bufferedBytes)
    }

    private mutating func add(_ stored: StoredDelivery) {
        let event = stored.delivery.id.event
        guard inFlight[event] == nil else { return hasMore = true }
        guard bufferedIDs.insert(event).inserted else {
            // It was changed since it was read, such as by a retry by hand.
            if let index = buffer.firstIndex(where: { $0.delivery.id.event == event }) { buffer[index] = stored }
            return
        }
        buffer.append(stored)
        bufferedBytes += stored.event.count
    }

    private mutating func advance(_ now: Timestamp) -> [Action] {
        guard isOpen else { return [] }
        if let due = nextDue, due <= now {
            nextDue = nil
            hasMore = true
        }
        var actions: [Action] = []
        while let first = buffer.first, hasPlace(for: first), mayStart(now) {
            guard bucket?.take(at: now) ?? true else { break }
            buffer.removeFirst()
            bufferedIDs.remove(first.delivery.id.event)
            bufferedBytes -= first.event.count
            inFlight[first.delivery.id.event] = first.event.count
            inFlightBytes += first.event.count
            if misstarts > 0 { probe = first.delivery.id.event }
            actions.append(.start(first))
        }
        if let read = readAsNeeded(now) { actions.append(.read(read)) }
        if let time = nextTime(now) { actions += wake(at: time) }
        return actions
    }

    private func hasPlace(for stored: StoredDelivery) -> Bool {
        if inFlight.isEmpty { return true }
        // While none can be started, one is attempted at a time, beside those that have started before.
        return inFlight.count < limits.concurrency && inFlightBytes + stored.event.count <= limits.maxBytes
            && probe == nil && !isAlone && !suspects.contains(stored.delivery.id.event)
    }

    private func mayStart(_ now: Timestamp) -> Bool { mayStartAt.map { isOver($0, now) } ?? true }

    /// Whether a time that was planned here has come, or will for too long not come since the clock was put back.
    private func isOver(_ time: Timestamp, _ now: Timestamp) -> Bool {
        time <= now || time > now.after(seconds: Self.longestSleep)
    }

    /// The next page, once most of what was read is started.
    private mutating func readAsNeeded(_ now: Timestamp) -> Request? {
        if case .failed(let again) = reading, isOver(again, now) { reading = .none }
        guard hasMore, reading == .none, buffer.count <= limits.page / 4,
            bufferedBytes < limits.bufferedBytes / 2
        else { return nil }
        reading = .underWay(Arrivals())
        hasMore = false
        return Request(
            except: bufferedIDs.union(inFlight.keys), limit: limits.page,
            maxBytes: limits.bufferedBytes / 2)
    }

    /// When something is to be done though nothing happens.
    private mutating func nextTime(_ now: Timestamp) -> Timestamp? {
        var times: [Timestamp] = []
        if let nextDue { times.append(nextDue) }
        if case .failed(let again) = reading { times.append(again) }
        if let first = buffer.first, hasPlace(for: first) {
            if let mayStartAt, !mayStart(now) {
                times.append(mayStartAt)
            } else if let next = bucket?.next(at: now) {
                times.append(next)
            }
        }
        return times.min().map { min($0, now.after(seconds: Self.longestSleep)) }
    }

    /// Asks for a tick, unless an earlier one is on its way.
    private mutating func wake(at time: Timestamp) -> [Action] {
        if let nextWake, nextWake <= time { return [] }
        nextWake = time
        return [.wake(at: time)]
    }
}
