/// What looking up a key comes to.
enum KeyLookup: Sendable {
    case key(PublicKey)
    /// The issuer has no such key.
    case unknown
    /// A fetch is under way or due that may bring it.
    case fetching
    /// Whether there is such a key can't be told now, and a fetch would be too early.
    case unavailable
}

/// When keys are fetched, kept and given up: no I/O, no clock, all times in seconds since 1970.
///
/// Keys are fetched anew when 80 % of their age has passed. Through an outage they stay in use until a day after they
/// have lapsed, while tries go on at growing intervals. A key id that is not among them may be a new key, so it brings
/// the next fetch forward, but never to less than 30 seconds after the last: a flood of made-up ids fetches no more.
struct KeyCacheState {
    struct Limits {
        /// Seconds that keys stay usable after they lapsed.
        var outage: Int64 = 24 * 3600
        /// Seconds between fetches that unknown key ids cause.
        var unknownKeyInterval: Int64 = 30
        /// Seconds until the first try after a failure; doubled by each further failure.
        var firstBackoff: Int64 = 1
        var maxBackoff: Int64 = 300
        /// What an issuer may ask for as an age.
        var maxAge: ClosedRange<Int64> = 60...(24 * 3600)
    }

    private enum Activity {
        /// Nothing is under way; the next fetch may begin at `due`.
        case idle(due: Int64)
        case fetching
        /// No more fetches: the host shuts down.
        case stopped
    }

    private let limits: Limits
    private var keys = KeySet()
    private var usableUntil = Int64.min
    private var activity = Activity.idle(due: .min)
    private var lastFetch = Int64.min / 2
    private var failures = 0

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Looks a key up. `fetching` may have brought the next fetch forward: see to it that one begins.
    mutating func lookUp(_ keyID: String, now: Int64) -> KeyLookup {
        if now < usableUntil, let key = keys[keyID] { return .key(key) }
        switch activity {
        case .fetching: return .fetching
        case .stopped: return .unavailable
        case .idle(let due) where due <= now: return .fetching
        case .idle:
            guard failures == 0 else { return .unavailable }
            guard now - lastFetch >= limits.unknownKeyInterval else { return .unknown }
            activity = .idle(due: now)
            return .fetching
        }
    }

    /// Begins a fetch if one is due and none is under way.
    mutating func begin(now: Int64) -> Bool {
        guard case .idle(let due) = activity, due <= now else { return false }
        activity = .fetching
        lastFetch = now
        return true
    }

    /// Takes the keys that a fetch brought.
    mutating func succeed(_ fetched: FetchedKeys, now: Int64) {
        let age = min(max(fetched.maxAge, limits.maxAge.lowerBound), limits.maxAge.upperBound)
        keys = fetched.keys
        usableUntil = now + age + limits.outage
        failures = 0
        end(due: now + age * 4 / 5)
    }

    /// Notes that a fetch failed; the keys held stay.
    mutating func fail(now: Int64) {
        let backoff = min(limits.maxBackoff, limits.firstBackoff << min(failures, 20))
        failures += 1
        end(due: now + backoff)
    }

    mutating func stop() { activity = .stopped }

    /// Whether a fetch is due or under way: who waits will not wait for nothing.
    func isFetchExpected(now: Int64) -> Bool {
        switch activity {
        case .fetching: true
        case .idle(let due): due <= now
        case .stopped: false
        }
    }

    /// Seconds until the next fetch is due; nil while one is under way and after the stop.
    func secondsUntilDue(now: Int64) -> Int64? {
        guard case .idle(let due) = activity else { return nil }
        return due <= now ? 0 : due - now
    }

    private mutating func end(due: Int64) {
        guard case .fetching = activity else { return }
        activity = .idle(due: due)
    }
}
