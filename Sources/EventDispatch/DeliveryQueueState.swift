import CommitPipeline
import DocumentModel
import DocumentStore
import Workers
import DequeModule

/// Decides which of a function's deliveries are run and when more of them are read, as a pure state machine.
///
/// Due deliveries start in the order of their due times. Memory holds a bounded number of them: while the store has
/// more, new deliveries stay in the store too and are read in their turn.
package struct DeliveryQueueState: Equatable {
    enum Action: Equatable, Sendable {
        case start(StoredDelivery)
        /// Read due deliveries, and call ``read(_:now:)`` or ``readFailed(now:)``.
        case read(Request)
        /// Call ``tick(for:now:)`` at this time.
        case wake(at: Timestamp)
    }

    struct Request: Equatable, Sendable {
        var except: Set<EventID>
        var limit: Int
        var maxBytes: Int
    }

    /// The result of reading.
    struct Page: Equatable, Sendable {
        var deliveries: [StoredDelivery] = []
        var hasMore = false
        var nextDue: Timestamp?
    }

    package struct Limits: Equatable, Sendable {
        /// Deliveries that may run at the same time, and bytes of their events.
        package var concurrency: Int
        var maxBytes = 16 << 20
        /// Due deliveries that may wait in memory, and bytes of their events.
        var buffered = 256
        var bufferedBytes = 1 << 20
        /// The maximum number of deliveries in one page: all functions and documents share the readers.
        var page = 64
        /// Starts per second; nil if unlimited.
        var rate: Double?
    }

    private enum Phase: Equatable {
        case closed, open, stopped
    }

    /// Deliveries that were reported while a page was being read.
    private struct Arrivals: Equatable {
        var deliveries: [StoredDelivery] = []
        var bytes = 0
        /// Whether some were omitted.
        var areIncomplete = false
        /// Those that an operator or a commit changed meanwhile: the page may have them as they were before.
        private(set) var withdrawn: Set<EventID> = []

        mutating func add(_ stored: StoredDelivery, _ limits: Limits) {
            guard !areIncomplete, deliveries.count < limits.page,
                deliveries.isEmpty || bytes + stored.event.count <= limits.bufferedBytes
            else { return areIncomplete = true }
            deliveries.append(stored)
            bytes += stored.event.count
        }

        mutating func withdraw(_ events: Set<EventID>) {
            withdrawn.formUnion(events)
            deliveries.removeAll { events.contains($0.delivery.id.event) }
            bytes = deliveries.reduce(0) { $0 + $1.event.count }
        }
    }

    private enum Reading: Equatable {
        case none
        case underWay(Arrivals)
        /// The page that is being read will be discarded.
        case stale
        case failed(again: Timestamp)
    }

    private var limits: Limits
    private var phase = Phase.closed
    private var buffer: Deque<StoredDelivery> = []
    private var bufferedIDs: Set<EventID> = []
    private var bufferedBytes = 0
    /// The running deliveries, with the bytes of each event.
    private var inFlight: [EventID: Int] = [:]
    private var inFlightBytes = 0
    /// Whether the store may have due deliveries that aren't in memory.
    private var hasMore = true
    private var reading = Reading.none
    /// The earliest known time at which a delivery becomes due.
    private var nextDue: Timestamp?
    private var bucket: TokenBucket?
    private var nextWake: Timestamp?
    /// Deliveries whose process ended while it ran several. Any of them may be the cause, so each is run alone.
    private var suspects: Set<EventID> = []
    /// The number of consecutive failures to start a handler, and the time of the next attempt.
    private var misstarts = 0
    private var mayStartAt: Timestamp?
    /// The delivery that is attempted to find out whether handlers can be started again.
    private var probe: EventID?

    /// The maximum time until a tick, in seconds: the wall clock may be changed meanwhile.
    private static let longestSleep = 60.0

    init(limits: Limits) {
        self.limits = limits
        bucket = limits.rate.map { TokenBucket(perSecond: $0) }
    }

    var inFlightCount: Int { inFlight.count }
    /// Whether the last attempt to start a handler has failed.
    var isFailing: Bool { misstarts > 0 }
    func isInFlight(_ event: EventID) -> Bool { inFlight[event] != nil }
    /// Deliveries in memory that aren't running yet.
    var bufferedCount: Int { buffer.count }

    // MARK: What happens

    /// Applies other limits to all later starts.
    mutating func limit(to limits: Limits, now: Timestamp) -> [Action] {
        if limits.rate != self.limits.rate { bucket = limits.rate.map { TokenBucket(perSecond: $0) } }
        self.limits = limits
        // A new release may start even if the last one couldn't.
        mayStartAt = nil
        return advance(now)
    }

    /// Deliveries may be run from now on.
    mutating func opened(now: Timestamp) -> [Action] {
        guard phase == .closed else { return [] }
        phase = .open
        // Operations that failed before may succeed now.
        if case .failed = reading { reading = .none }
        mayStartAt = nil
        return advance(now)
    }

    /// Starts nothing more until ``opened(now:)``. Running handlers continue.
    mutating func closed() {
        guard phase == .open else { return }
        phase = .closed
        forget()
    }

    /// Never starts anything again.
    mutating func stopped() {
        phase = .stopped
        forget()
    }

    /// A durable commit has added deliveries: those that are due, and the time of the first one that is due later.
    mutating func arrived(_ due: [StoredDelivery], later: Timestamp?, now: Timestamp) -> [Action] {
        if let later { noteDue(later) }
        guard isOpen else {
            hasMore = true
            return []
        }
        for stored in due { take(stored) }
        return advance(now)
    }

    /// An operator has changed deliveries, so that they aren't due any more.
    mutating func withdrawn(_ events: Set<EventID>) {
        if case .underWay(var arrivals) = reading {
            reading = .none
            arrivals.withdraw(events)
            reading = .underWay(arrivals)
        }
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
        // Deliveries that were reported during the read may be missing from the page.
        hasMore = hasMore || page.hasMore
        for stored in page.deliveries {
            if arrivals.withdrawn.contains(stored.delivery.id.event) { hasMore = true } else { add(stored) }
        }
        // Suspects that aren't in memory, although everything was read, have ended: by a commit before their process
        // was lost.
        if !hasMore, page.nextDue == nil {
            suspects = suspects.filter { bufferedIDs.contains($0) || inFlight[$0] != nil }
        }
        // If the store has more to read, the new deliveries are read in their turn.
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

    /// The attempt at a delivery has ended, and its outcome is stored.
    ///
    /// - Parameter due: when the next attempt is due. Pages that were read before don't contain it.
    mutating func ended(_ event: EventID, due: Timestamp? = nil, now: Timestamp) -> [Action] {
        drop(event)
        suspects.remove(event)
        if let due { noteDue(due) }
        return advance(now)
    }

    /// A delivery wasn't run and is unchanged. It is read again soon.
    mutating func returned(_ event: EventID, now: Timestamp) -> [Action] {
        release(event)
        if reading == .none { reading = .failed(again: now.after(seconds: 1)) }
        return advance(now)
    }

    /// Another release has taken over before a handler was started for a delivery, which is unchanged. It is read again
    /// at once.
    mutating func displaced(_ event: EventID, now: Timestamp) -> [Action] {
        release(event)
        return advance(now)
    }

    /// The process ended while it ran several deliveries, including this one. It is run again, alone.
    mutating func lostInCompany(_ event: EventID, now: Timestamp) -> [Action] {
        release(event)
        suspects.insert(event)
        return advance(now)
    }

    /// No handler could be started for a delivery, which isn't the delivery's fault. One delivery at a time is
    /// attempted, after increasing pauses, until a handler starts.
    mutating func misstarted(_ event: EventID, now: Timestamp) -> [Action] {
        release(event)
        // Starts that failed together have one cause, and count as one.
        if mayStart(now) {
            misstarts += 1
            mayStartAt = now.after(seconds: min(Double(1 << min(misstarts - 1, 6)), Self.longestSleep))
        }
        return advance(now)
    }

    /// A handler has started after others couldn't be started.
    mutating func started(now: Timestamp) -> [Action] {
        (misstarts, mayStartAt, probe) = (0, nil, nil)
        return advance(now)
    }

    /// - Parameter wake: the time that was asked for. If the tick comes early, or the clock was set back, another one
    ///   is asked for. A tick is ignored if an earlier one was asked for since.
    mutating func tick(for wake: Timestamp, now: Timestamp) -> [Action] {
        if nextWake == wake { nextWake = nil }
        return advance(now)
    }

    // MARK: Parts

    private var isOpen: Bool { phase == .open }

    /// Whether the running delivery must run alone.
    private var isAlone: Bool { inFlight.count == 1 && inFlight.keys.first.map { suspects.contains($0) } == true }

    private mutating func noteDue(_ time: Timestamp) { nextDue = min(nextDue ?? time, time) }

    private mutating func drop(_ event: EventID) {
        if let bytes = inFlight.removeValue(forKey: event) { inFlightBytes -= bytes }
        if probe == event { probe = nil }
    }

    /// Releases a delivery that isn't run as planned: it is in the store, and is read in its turn.
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

    /// Buffers a new delivery if all older due deliveries are in memory already. Otherwise it stays in the store, and is
    /// read in order.
    private mutating func take(_ stored: StoredDelivery) {
        if case .underWay(var arrivals) = reading {
            reading = .none
            arrivals.add(stored, limits)
            reading = .underWay(arrivals)
        } else if hasMore || !hasRoom(for: stored) || inFlight[stored.delivery.id.event] != nil {
            // The delivery is still in flight: it was returned a moment ago, and its end will be reported soon.
            hasMore = true
        } else {
            add(stored)
        }
    }

    /// An event of any size has room if nothing else is in memory.
    private func hasRoom(for stored: StoredDelivery) -> Bool {
        buffer.count < limits.buffered
            && (buffer.isEmpty || bufferedBytes + stored.event.count <= limits.bufferedBytes)
    }

    private mutating func add(_ stored: StoredDelivery) {
        let event = stored.delivery.id.event
        guard inFlight[event] == nil else { return hasMore = true }
        guard bufferedIDs.insert(event).inserted else {
            // The delivery was changed since it was read, for example by a manual retry.
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
        // While no handler can be started, one delivery at a time is attempted, in addition to those that were running
        // before.
        return inFlight.count < limits.concurrency && inFlightBytes + stored.event.count <= limits.maxBytes
            && probe == nil && !isAlone && !suspects.contains(stored.delivery.id.event)
    }

    private func mayStart(_ now: Timestamp) -> Bool { mayStartAt.map { isOver($0, now) } ?? true }

    /// Whether a planned time has come, or is too far ahead because the clock was set back.
    private func isOver(_ time: Timestamp, _ now: Timestamp) -> Bool {
        time <= now || time > now.after(seconds: Self.longestSleep)
    }

    /// Reads the next page once most of the last one is started.
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

    /// The next time at which something must be done without any event.
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

    /// Asks for a tick, unless an earlier one is pending.
    private mutating func wake(at time: Timestamp) -> [Action] {
        if let nextWake, nextWake <= time { return [] }
        nextWake = time
        return [.wake(at: time)]
    }
}
