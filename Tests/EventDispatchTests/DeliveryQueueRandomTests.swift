import CommitPipeline
import DocumentModel
import DocumentStore
@testable import EventDispatch
import Foundation
import TestSupport
import Testing

/// The machine against a plain store, over random news, reads, ends, pauses and changes by hand.
///
/// `SOAK_SECONDS` goes on for longer, from the seed `SOAK_SEED` on.
@Suite struct DeliveryQueueRandomTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 1

    private struct Run {
        var queue = DeliveryQueueState(
            limits: .init(concurrency: 3, maxBytes: 60, buffered: 6, bufferedBytes: 80, page: 5))
        var random: SeededGenerator
        var now = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)
        var last: Int64 = 0
        /// What the store has, by when it is due.
        var pending: [EventID: (due: Timestamp, bytes: Int)] = [:]
        var running: Set<EventID> = []
        /// Those that must run alone.
        var suspects: Set<EventID> = []
        /// What was asked for, with what the store held then; nil until its snapshot is taken.
        var reading: (request: DeliveryQueueState.Request, page: DeliveryQueueState.Page?)?
        /// Timers use a clock that is never set back.
        var elapsed = 0.0
        var timers: [(fires: Double, wake: Timestamp)] = []
        /// The latest that the wall clock has shown.
        var latest = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)
        /// Whether the handler of what runs has started.
        var begun: Set<EventID> = []
        var finished = 0
        var problem: String?

        func stored(_ id: EventID) -> StoredDelivery {
            StoredDelivery(
                delivery: Delivery(
                    id: DeliveryID(event: id, function: "f"), state: .pending(due: pending[id]?.due ?? now)),
                event: [UInt8](repeating: 0, count: pending[id]?.bytes ?? 0))
        }

        mutating func perform(_ actions: [DeliveryQueueState.Action]) {
            for action in actions {
                switch action {
                case .start(let stored):
                    let id = stored.delivery.id.event
                    if !running.insert(id).inserted { problem = "\(id) runs twice at once" }
                    if running.count > 1, !suspects.isDisjoint(with: running) { problem = "a suspect isn't alone" }
                    guard let due = pending[id]?.due else {
                        problem = "\(id) was started and is gone"
                        continue
                    }
                    if due > latest { problem = "\(id) was started early" }
                case .read(let request):
                    if reading != nil { problem = "two reads at once" }
                    reading = (request, nil)
                case .wake(let time): timers.append((elapsed + max(time.seconds(since: now), 0), time))
                }
            }
            if queue.bufferedCount > 6 + 5 { problem = "\(queue.bufferedCount) are in memory" }
            if running.count > 3 { problem = "\(running.count) run" }
        }

        mutating func snapshot() {
            guard let request = reading?.request, reading?.page == nil else { return }
            var page = DeliveryQueueState.Page()
            var bytes = 0
            let sorted = pending.sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
            for (id, delivery) in sorted {
                guard delivery.due <= now else {
                    page.nextDue = delivery.due
                    break
                }
                if request.except.contains(id) { continue }
                guard page.deliveries.count < request.limit, bytes < request.maxBytes || page.deliveries.isEmpty else {
                    page.hasMore = true
                    break
                }
                bytes += delivery.bytes
                page.deliveries.append(stored(id))
            }
            reading?.page = page
        }

        mutating func answer() {
            snapshot()
            guard let page = reading?.page else { return }
            reading = nil
            perform(queue.read(page, now: now))
        }

        mutating func begin(_ id: EventID) {
            guard begun.insert(id).inserted, queue.isFailing else { return }
            perform(queue.started(now: now))
        }

        mutating func end(_ id: EventID) {
            begin(id)
            begun.remove(id)
            running.remove(id)
            suspects.remove(id)
            var due: Timestamp?
            if Int.random(in: 0..<4, using: &random) == 0 {
                let pauses = [0.0, 0, 0.5, 3]
                let pause = pauses[Int.random(in: 0..<4, using: &random)]
                due = now.after(seconds: pause)
                pending[id]?.due = now.after(seconds: pause)
                // The news of a retry comes before that its try has ended, as the store tells them.
                perform(
                    pause == 0
                        ? queue.arrived([stored(id)], later: nil, now: now)
                        : queue.arrived([], later: pending[id]?.due, now: now))
            } else {
                pending[id] = nil
                finished += 1
            }
            if Bool.random(using: &random) { answer() }
            perform(queue.ended(id, due: due, now: now))
        }

        mutating func step() {
            switch Int.random(in: 0..<24, using: &random) {
            case 0..<6:
                var due: [StoredDelivery] = []
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    last += 1
                    let id = EventID(version: last, ordinal: 0)
                    pending[id] = (now, Int.random(in: 1...40, using: &random))
                    due.append(stored(id))
                }
                perform(queue.arrived(due, later: nil, now: now))
            case 6:
                last += 1
                let id = EventID(version: last, ordinal: 0)
                pending[id] = (now.after(seconds: Double.random(in: 0.1...5, using: &random)), 10)
                perform(queue.arrived([], later: pending[id]?.due, now: now))
            case 7..<12: if let id = running.randomElement(using: &random) { end(id) }
            case 12: snapshot()
            case 13, 14: answer()
            case 15:
                if reading != nil {
                    reading = nil
                    perform(queue.readFailed(now: now))
                }
            case 16:
                guard let id = pending.keys.filter({ !running.contains($0) }).randomElement(using: &random) else {
                    return
                }
                pending[id] = nil
                finished += 1
                suspects.remove(id)
                queue.withdrawn([id])
                perform(queue.arrived([], later: nil, now: now))
            case 17:
                guard let id = running.randomElement(using: &random) else { return }
                running.remove(id)
                let hasBegun = begun.remove(id) != nil
                switch Int.random(in: 0..<(hasBegun ? 2 : 4), using: &random) {
                case 0: perform(queue.returned(id, now: now))
                case 1:
                    suspects.insert(id)
                    perform(queue.lostInCompany(id, now: now))
                case 2: perform(queue.displaced(id, now: now))
                default: perform(queue.misstarted(id, now: now))
                }
            case 18:
                queue.closed()
                if Bool.random(using: &random) { answer() }
                perform(queue.opened(now: now))
            case 19, 20: if let id = running.randomElement(using: &random) { begin(id) }
            case 21:
                let step = [0.5, 20, 90][Int.random(in: 0..<3, using: &random)]
                now = now.after(seconds: -step)
            default: pass(seconds: Double.random(in: 0...1, using: &random))
            }
        }

        mutating func pass(seconds: Double) {
            now = now.after(seconds: seconds)
            latest = max(latest, now)
            elapsed += seconds
            let due = timers.filter { $0.fires <= elapsed }.sorted { $0.fires < $1.fires }
            timers.removeAll { $0.fires <= elapsed }
            for timer in due { perform(queue.tick(for: timer.wake, now: now)) }
            if timers.count > 200 { problem = "\(timers.count) timers wait" }
        }
    }

    @Test(arguments: 1...12) func nothingIsLostDoubledOrEarly(seed: UInt64) { Self.check(seed) }

    @Test(.endsHangs(afterWorking: seconds))
    func nothingIsLostDoubledOrEarlyForLong() {
        let first = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...999_999)
        print("the first machine's seed is \(first)")
        let end = ContinuousClock.now + .seconds(Self.seconds)
        var runs: UInt64 = 0
        while ContinuousClock.now < end {
            Self.check(first &+ runs)
            runs += 1
        }
        print("\(runs) runs of the dispatcher's machine")
    }

    private static func check(_ seed: UInt64) {
        var run = Run(random: SeededGenerator(seed: seed))
        run.perform(run.queue.opened(now: run.now))
        for _ in 0..<400 where run.problem == nil { run.step() }
        // In the end everything is done, by what the machine itself asks for.
        for _ in 0..<10_000 where run.problem == nil && !(run.pending.isEmpty && run.running.isEmpty) {
            run.answer()
            for id in run.running.sorted() { run.end(id) }
            run.pass(seconds: 0.2)
        }
        #expect(run.problem == nil, "seed \(seed)")
        let left = run.pending.count
        #expect(left == 0, "seed \(seed), of \(run.last)")
        #expect(run.finished == Int(run.last), "seed \(seed)")
    }
}
