package import OutboundHTTP

/// The keys of an OpenID Connect issuer, found by its discovery document. They are fetched, and refreshed, when one is
/// asked for.
package actor IssuerKeys {
    private let source: any KeySource
    private let now: WallClock
    private var state = KeyCacheState()
    private var fetching: Task<Void, Never>?

    /// - Parameter issuer: as tokens name it, such as `https://accounts.google.com`.
    package init(
        issuer: String, transport: any OutboundTransport = OutboundClient(), now: @escaping WallClock = systemWallClock
    ) {
        self.init(source: DiscoveredKeySource(issuer: issuer, transport: transport), now: now)
    }

    init(source: any KeySource, now: @escaping WallClock) {
        self.source = source
        self.now = now
    }

    /// - Returns: nil if the issuer has no such key.
    /// - Throws: `KeySourceError` if the keys can't be fetched.
    package func key(_ id: String) async throws(KeySourceError) -> PublicKey? {
        // Otherwise a key that the issuer has revoked would be accepted for as long as an outage may last. A slow issuer
        // delays nothing as long as its keys may be used.
        let time = now()
        if state.isFetchExpected(now: time) {
            let haveLapsed = state.haveLapsed(now: time)
            let fetch = begin()
            if haveLapsed { await fetch?.value }
        }
        // After waiting for a fetch in progress, another one may be needed for this key.
        for _ in 0..<3 {
            switch state.lookUp(id, now: now()) {
            case .key(let key): return key
            case .unknown: return nil
            case .unavailable: throw KeySourceError("the issuer's keys could not be fetched a moment ago")
            case .fetching: await begin()?.value
            }
        }
        throw KeySourceError("the issuer's keys can't be fetched")
    }

    /// Begins a fetch if one is due.
    ///
    /// - Returns: the one in progress, for all that wait.
    private func begin() -> Task<Void, Never>? {
        if let fetching { return fetching }
        guard state.begin(now: now()) else { return nil }
        let task = Task {
            do throws(KeySourceError) {
                state.succeed(try await source.fetch(), now: now())
            } catch {
                state.fail(now: now())
            }
            fetching = nil
        }
        fetching = task
        return task
    }
}

/// Keys at the address that an issuer's discovery document names.
struct DiscoveredKeySource: KeySource {
    let issuer: String
    let transport: any OutboundTransport

    func fetch() async throws(KeySourceError) -> FetchedKeys {
        let document = try await DiscoveryDocument.fetch(of: issuer, by: transport)
        return try await RemoteKeySource(
            address: document.keysAddress, document: .webKeySet, transport: transport
        ).fetch()
    }
}
