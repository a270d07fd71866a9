import OutboundHTTP
import TokenVerification

/// What OpenID Connect issuers say of themselves. It is asked for again after an hour; during an outage, what is known
/// stays of use for a day, as their keys do.
///
/// Anyone can open the page that needs a document. So an issuer is asked once at a time, for all who wait. If what it said
/// before may be used, only the sign-in that asks waits for it.
actor IssuerDocuments {
    private struct Known {
        var document: DiscoveryDocument
        /// Seconds since 1970.
        var fetchedAt: Int64
    }

    private typealias Answer = Result<DiscoveryDocument, KeySourceError>

    private static let lifetime: Int64 = 3600
    private static let outage: Int64 = 24 * 3600
    /// How long an issuer that has failed isn't asked again if its document is known, in seconds.
    private static let pause: Int64 = 60

    private let transport: any OutboundTransport
    private let now: WallClock
    private var known: [String: Known] = [:]
    private var failedAt: [String: Int64] = [:]
    private var fetches: [String: Task<Answer, Never>] = [:]

    init(transport: any OutboundTransport, now: @escaping WallClock) {
        self.transport = transport
        self.now = now
    }

    /// - Throws: `KeySourceError` if the issuer can't be asked, and what it said before is too old.
    func document(of issuer: String) async throws(KeySourceError) -> DiscoveryDocument {
        let time = now()
        // A moment to come is that of a clock which was set back since: it tells no age.
        func isWithin(_ seconds: Int64, of moment: Int64) -> Bool { (0..<seconds).contains(time - moment) }
        let old = known[issuer].flatMap { isWithin(Self.lifetime + Self.outage, of: $0.fetchedAt) ? $0 : nil }
        if let old {
            let hasFailed = failedAt[issuer].map { isWithin(Self.pause, of: $0) } ?? false
            if hasFailed || isWithin(Self.lifetime, of: old.fetchedAt) { return old.document }
            // A slow issuer holds up one sign-in, not all.
            if fetches[issuer] != nil { return old.document }
        }
        let fetch = fetches[issuer] ?? begin(issuer)
        switch await fetch.value {
        case .success(let document): return document
        case .failure(let error):
            guard let old else { throw error }
            return old.document
        }
    }

    private func begin(_ issuer: String) -> Task<Answer, Never> {
        let fetch = Task { () -> Answer in
            let answer: Answer
            do throws(KeySourceError) {
                answer = .success(try await DiscoveryDocument.fetch(of: issuer, by: transport))
            } catch {
                answer = .failure(error)
            }
            end(issuer, answer)
            return answer
        }
        fetches[issuer] = fetch
        return fetch
    }

    private func end(_ issuer: String, _ answer: Answer) {
        fetches[issuer] = nil
        switch answer {
        case .success(let document):
            known[issuer] = Known(document: document, fetchedAt: now())
            failedAt[issuer] = nil
        case .failure: failedAt[issuer] = now()
        }
    }
}
