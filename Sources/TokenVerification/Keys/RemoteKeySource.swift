import Foundation
package import OutboundHTTP

/// Keys that an issuer publishes at a URL.
package struct RemoteKeySource: KeySource {
    private let address: String
    private let document: KeyDocument
    private let fixedAge: Int64?
    private let transport: any OutboundTransport

    private static let limits = OutboundLimits(maxBytes: 1024 * 1024, silence: .seconds(10), whole: .seconds(30))

    /// - Parameter fixedAge: How many seconds to cache the keys; nil uses `max-age` from the response.
    package init(
        address: String, document: KeyDocument, fixedAge: Int64? = nil,
        transport: any OutboundTransport = OutboundClient()
    ) {
        self.address = address
        self.document = document
        self.fixedAge = fixedAge
        self.transport = transport
    }

    /// The certificates for Firebase's ID tokens.
    package static let googleIDTokens = RemoteKeySource(
        address: "https://www.googleapis.com" + IDTokenCertificates.path, document: .certificates)

    /// The certificates for session cookies, which have keys of their own.
    package static let googleSessionCookies = RemoteKeySource(
        address: "https://www.googleapis.com/identitytoolkit/v3/relyingparty/publicKeys", document: .certificates)

    /// The certificates for a host's ID tokens. Other emulators publish none, because their tokens are unsigned.
    package static func emulator(at host: String) -> RemoteKeySource {
        RemoteKeySource(address: "http://" + host + IDTokenCertificates.path, document: .certificates)
    }

    /// The keys for App Check tokens, cached for 6 hours as Firebase recommends.
    package static let googleAppCheck = RemoteKeySource(
        address: "https://firebaseappcheck.googleapis.com/v1/jwks", document: .webKeySet, fixedAge: 6 * 3600)

    /// Whether Google can issue tokens for a project: those named `demo-…` never exist there.
    package static func isUseful(forProject project: String) -> Bool { !project.hasPrefix("demo-") }

    package func fetch() async throws(KeySourceError) -> FetchedKeys {
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await transport.send(OutboundRequest(to: address, limits: Self.limits))
        } catch {
            throw KeySourceError("the issuer's keys can't be fetched: \(error)")
        }
        guard response.status == 200 else {
            throw KeySourceError("the issuer returned status \(response.status)")
        }
        let keys = try document.keys(in: response.body)
        return FetchedKeys(keys: keys, maxAge: fixedAge ?? Self.age(response))
    }

    /// `max-age` less the age that the response already has, at most 30 days; an hour if it has none.
    private static func age(_ response: OutboundResponse) -> Int64 {
        let directives = (response.header("Cache-Control") ?? "").split(separator: ",")
        for directive in directives.map({ $0.trimmingCharacters(in: .whitespaces).lowercased() })
        where directive.hasPrefix("max-age=") {
            guard let age = Int64(directive.dropFirst("max-age=".count)) else { continue }
            let passed = min(max(Int64(response.header("Age") ?? "") ?? 0, 0), 24 * 3600)
            return max(min(max(age, 0), 30 * 24 * 3600) - passed, 0)
        }
        return 3600
    }
}
