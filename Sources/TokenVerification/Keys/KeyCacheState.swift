/// The result of looking up a key.
enum KeyLookup: Sendable {
    case key(PublicKey)
    /// The issuer has no such key.
    case unknown
    /// A fetch that may bring the key is in progress or due.
    case fetching
    /// It is unknown whether there is such a key, and it is too early for another fetch.
    case unavailable
}

/// Decides when keys are fetched, kept and discarded: no I/O, no clock, all times in seconds since 1970.
///
/// Keys are refreshed when 80 % of their age has passed. During an outage they stay usable for a day after they have
/// lapsed, while fetches are retried with backoff. An unknown key id may belong to a new key, so it brings the next
/// fetch forward, but never to less than 30 seconds after the last one: a flood of made-up ids causes no more fetches.
/// If the clock is set back to before the last fetch, the next one is due at once: it was planned by a wrong clock.
struct KeyCacheState {
    struct Limits {
        /// How many seconds keys stay usable after they have lapsed.
        var outage: Int64 = 24 * 3600
        /// The minimum number of seconds between fetches caused by unknown key ids.
        var unknownKeyInterval: Int64 = 30
        /// How many seconds after a failure the first retry begins; doubled with each further failure.
        var firstBackoff: Int64 = 1
        var maxBackoff: Int64 = 300
        /// The ages that an issuer may ask for.
        var maxAge: ClosedRange<Int64> = 60...(24 * 3600)
    }

    private enum Activity {
        /// No fetch is in progress; the next one may begin at `due`.
        case idle(due: Int64)
        case fetching
        /// No more fetches: the host is shutting down.
        case stopped
    }

    private let limits: Limits
    private var keys = KeySet()
    /// When the keys' age has passed.
    private var freshUntil = Int64.min
    private var activity = Activity.idle(due: .min)
    private var lastFetch = Int64.min / 2
    private var failures = 0
    private var lastFailure = Int64.min / 2

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Looks up a key. If the result is `fetching`, the next fetch may be due earlier than before: the caller must
    /// begin it.
    mutating func lookUp(_ keyID: String, now: Int64) -> KeyLookup {
        if now < usableUntil, let key = keys[keyID] { return .key(key) }
        switch activity {
        case .fetching: return .fetching
        case .stopped: return .unavailable
        case .idle(let due) where isDue(due, at: now): return .fetching
        case .idle:
            guard failures == 0 else { return .unavailable }
            guard now - lastFetch >= limits.unknownKeyInterval else { return .unknown }
            activity = .idle(due: now)
            return .fetching
        }
    }

    /// Begins a fetch if one is due and none is in progress.
    mutating func begin(now: Int64) -> Bool {
        guard case .idle(let due) = activity, isDue(due, at: now) else { return false }
        if now < lastFetch { freshUntil = min(freshUntil, now + limits.maxAge.upperBound) }
        activity = .fetching
        lastFetch = now
        return true
    }

    /// Stores the fetched keys.
    mutating func succeed(_ fetched: FetchedKeys, now: Int64) {
        let age = min(max(fetched.maxAge, limits.maxAge.lowerBound), limits.maxAge.upperBound)
        keys = fetched.keys
        freshUntil = now + age
        failures = 0
        end(due: now + age * 4 / 5)
    }

    /// Records a failed fetch. Cached keys stay.
    mutating func fail(now: Int64) {
        let backoff = min(limits.maxBackoff, limits.firstBackoff << min(failures, 20))
        failures += 1
        lastFailure = now
        end(due: now + backoff)
    }

    mutating func stop() { activity = .stopped }

    private var usableUntil: Int64 { freshUntil + limits.outage }

    /// Whether the keys' age has passed, and no fetch has failed lately: during an outage one fails at least as often.
    func haveLapsed(now: Int64) -> Bool {
        now >= freshUntil && (failures == 0 || !(0..<2 * limits.maxBackoff).contains(now - lastFailure))
    }

    /// Whether a fetch is due or in progress, so that waiting for it ends.
    func isFetchExpected(now: Int64) -> Bool {
        switch activity {
        case .fetching: true
        case .idle(let due): isDue(due, at: now)
        case .stopped: false
        }
    }

    /// Seconds until the next fetch is due; nil while one is in progress, and after the stop.
    func secondsUntilDue(now: Int64) -> Int64? {
        guard case .idle(let due) = activity else { return nil }
        return isDue(due, at: now) ? 0 : due - now
    }

    private func isDue(_ due: Int64, at now: Int64) -> Bool { due <= now || now < lastFetch }

    private mutating func end(due: Int64) {
        guard case .fetching = activity else { return }
        activity = .idle(due: due)
    }
}
