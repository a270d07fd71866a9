import OutboundHTTP
import StrictJSON
import TokenVerification
import Synchronization

/// Access tokens of the process's service account, from Google Cloud's metadata server.
///
/// A token is cached until shortly before it expires. Concurrent callers share one fetch.
final class AccessTokens: Sendable {
    private struct State {
        var held: (text: String, freshUntil: Int64)?
        var fetch: Task<Result<String, OutboundError>, Never>?
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

    private let host: String
    private let address: String
    private let transport: any OutboundTransport
    private let now: WallClock
    private let state = Mutex(State())

    /// - Parameter host: the metadata server's host.
    init(host: String, transport: any OutboundTransport, now: @escaping WallClock) {
        self.host = host
        address = "http://\(host)/computeMetadata/v1/instance/service-accounts/default/token"
        self.transport = transport
        self.now = now
    }

    /// - Parameter refused: a token that a service refused; it is replaced by a new one.
    /// - Throws: if the metadata server provides no token. The failure isn't cached: the next call sends a new request.
    func token(insteadOf refused: String? = nil) async throws(OutboundError) -> String {
        let source = state.withLock { state -> Source in
            if let held = state.held, held.text != refused, now() < held.freshUntil { return .held(held.text) }
            let fetch = state.fetch ?? Task { await self.fetch() }
            state.fetch = fetch
            return .fetch(fetch)
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
                state.held = (token.text, began + max(token.lifetime - Self.margin, token.lifetime / 2))
                return token.text
            }
        }
    }

    private func ask() async throws(OutboundError) -> (text: String, lifetime: Int64) {
        let answer: OutboundResponse
        do throws(OutboundError) {
            answer = try await transport.send(
                OutboundRequest(to: address, headers: ["Metadata-Flavor": "Google"], limits: Self.limits))
        } catch {
            throw failure(
                "the metadata server can't be reached: \(error.reason). Outside of Google Cloud, set "
                    + "FIRESTORE_EMULATOR_HOST to the address of an emulator or a functions-host")
        }
        guard answer.status == 200 else {
            throw failure("the metadata server returned status \(answer.status)")
        }
        guard let node = try? JSONNode(parsing: answer.body), let text = try? node["access_token"]?.string(),
            let lifetime = try? node["expires_in"]?.integer()
        else { throw failure("the metadata server's response is not a token") }
        return (text, min(max(lifetime, 0), Self.maxLifetime))
    }

    /// A failure to get a token means that the service which needs it has received no request.
    private func failure(_ reason: String) -> OutboundError {
        OutboundError(.notSent, host: host, reason)
    }
}
