package import HostProcess
package import OutboundHTTP
import StrictJSON
import TextFormats
package import TokenVerification
import Synchronization

/// Access tokens of the process's service account, from Google Cloud's metadata server or for a key file.
///
/// A token is replaced shortly before it expires, and used until the new one has been fetched; callers only wait if it
/// has expired or was refused. They share one fetch.
package final class AccessTokens: Sendable {
    private struct State {
        var held: Held?
        var fetch: Task<Result<String, OutboundError>, Never>?
    }

    private struct Held {
        var text: String
        /// Seconds since 1970.
        var freshUntil: Int64
        var expires: Int64
    }

    private enum Source {
        case held(String)
        case fetch(Task<Result<String, OutboundError>, Never>)
    }

    /// How many seconds before its expiry a token is refreshed; by then the metadata server has a new one.
    private static let margin: Int64 = 225
    /// No token is cached for longer, whatever the metadata server says, in seconds.
    private static let maxLifetime: Int64 = 86_400
    private static let limits = OutboundLimits(maxBytes: 64 * 1024, whole: .seconds(5))

    private enum Issuer: Sendable {
        case metadataServer(host: String)
        case key(ServiceAccountFile)
    }

    /// What tokens are for.
    package struct Purpose: Sendable {
        /// Nil for all of Google Cloud's platform, which the metadata server assumes.
        let scopes: [String]?
        /// The variable that names an emulator, which needs no tokens.
        let emulatorVariable: String

        package static let platform = Purpose(scopes: nil, emulatorVariable: "FIRESTORE_EMULATOR_HOST")

        package init(scopes: [String]?, emulatorVariable: String) {
            self.scopes = scopes
            self.emulatorVariable = emulatorVariable
        }
    }

    private let issuer: Issuer
    private let purpose: Purpose
    private let transport: any OutboundTransport
    private let now: WallClock
    private let state = Mutex(State())

    /// - Parameter host: the metadata server's host.
    init(
        for purpose: Purpose = .platform, host: String, transport: any OutboundTransport, now: @escaping WallClock
    ) {
        issuer = .metadataServer(host: host)
        self.purpose = purpose
        self.transport = transport
        self.now = now
    }

    /// - Parameter key: signs what is exchanged for access tokens (RFC 7523).
    init(
        for purpose: Purpose = .platform, key: ServiceAccountFile, transport: any OutboundTransport,
        now: @escaping WallClock
    ) {
        issuer = .key(key)
        self.purpose = purpose
        self.transport = transport
        self.now = now
    }

    /// The tokens of the service account that the environment selects: that of the key file
    /// `GOOGLE_APPLICATION_CREDENTIALS`, or that of the metadata server, whose host `GCE_METADATA_HOST` overrides.
    ///
    /// - Throws: an error for the operator if the key file can't be used.
    package convenience init(
        for purpose: Purpose = .platform, environment: [String: String], transport: any OutboundTransport,
        now: @escaping WallClock = systemWallClock
    ) throws(HostError) {
        if let key = try ServiceAccountFile(environment: environment) {
            self.init(for: purpose, key: key, transport: transport, now: now)
        } else {
            self.init(for: purpose, host: MetadataServer.host(environment), transport: transport, now: now)
        }
    }

    /// - Parameter refused: a token that a service refused; it is replaced by a new one.
    /// - Throws: if the metadata server provides no token, and the last one has expired or was refused. The failure
    ///   isn't cached: the next call sends a new request.
    package func token(insteadOf refused: String? = nil) async throws(OutboundError) -> String {
        let source = state.withLock { state -> Source in
            let time = now()
            let held = state.held.flatMap { $0.text == refused || time >= $0.expires ? nil : $0 }
            if let held, time < held.freshUntil { return .held(held.text) }
            let fetch = state.fetch ?? Task { await self.fetch() }
            state.fetch = fetch
            return held.map { .held($0.text) } ?? .fetch(fetch)
        }
        switch source {
        case .held(let text): return text
        case .fetch(let fetch): return try await fetch.value.get()
        }
    }

    private func fetch() async -> Result<String, OutboundError> {
        let began = now()
        let result: Result<(text: String, lifetime: Int64), OutboundError>
        do throws(OutboundError) { result = .success(try await ask()) } catch { result = .failure(error) }
        return state.withLock { state in
            state.fetch = nil
            return result.map { token in
                // A token that is about to expire is still used for half of its remaining lifetime.
                state.held = Held(
                    text: token.text, freshUntil: began + max(token.lifetime - Self.margin, token.lifetime / 2),
                    expires: began + token.lifetime)
                return token.text
            }
        }
    }

    private static let platform = "https://www.googleapis.com/auth/cloud-platform"

    private func request() throws(OutboundError) -> OutboundRequest {
        switch issuer {
        case .metadataServer(let host):
            let scopes = purpose.scopes.map { "?scopes=" + PercentEncoding.encoded($0.joined(separator: ",")) } ?? ""
            return OutboundRequest(
                to: "http://\(host)/computeMetadata/v1/instance/service-accounts/default/token\(scopes)",
                headers: ["Metadata-Flavor": "Google"], limits: Self.limits)
        case .key(let key):
            let now = now()
            guard
                let assertion = try? key.sign([
                    "iss": .string(key.email),
                    "scope": .string((purpose.scopes ?? [Self.platform]).joined(separator: " ")),
                    "aud": .string(key.tokenURI),
                    "iat": .integer(now), "exp": .integer(now + 3600),
                ])
            else { throw failure("the service account's key can't sign") }
            let grant = PercentEncoding.encoded("urn:ietf:params:oauth:grant-type:jwt-bearer")
            return OutboundRequest(
                to: key.tokenURI, headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: Array("grant_type=\(grant)&assertion=\(assertion)".utf8), limits: Self.limits)
        }
    }

    private func ask() async throws(OutboundError) -> (text: String, lifetime: Int64) {
        let request = try request()
        let answer: OutboundResponse
        do throws(OutboundError) {
            answer = try await transport.send(request)
        } catch {
            throw failure(
                "\(source) can't be reached: \(error.reason)"
                    + (isMetadataServer
                        ? ". Outside of Google Cloud, set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service "
                            + "account, or \(purpose.emulatorVariable) to the address of an emulator or a functions-host"
                        : ""))
        }
        guard answer.status == 200 else {
            throw failure("\(source) returned status \(answer.status)")
        }
        guard let node = try? JSONNode(parsing: answer.body), let text = try? node["access_token"]?.string(),
            let lifetime = try? node["expires_in"]?.integer()
        else { throw failure("\(source)'s response is not a token") }
        return (text, min(max(lifetime, 0), Self.maxLifetime))
    }

    /// A failure to get a token means that the service which needs it has received no request.
    private func failure(_ reason: String) -> OutboundError {
        switch issuer {
        case .metadataServer(let host): OutboundError(.notSent, host: host, reason)
        case .key(let key): OutboundError(.notSent, host: key.email, reason)
        }
    }

    private var isMetadataServer: Bool { if case .metadataServer = issuer { true } else { false } }

    private var source: String { isMetadataServer ? "the metadata server" : "the service account's token server" }
}
