import DocumentModel
import NIOHPACK
import Testing

@testable import FirestoreAPI

/// What the firestore port demands of clients' apps, on each of its wires.
struct AppAdmissionTests {
    private static let reader = PrincipalReader(
        isDevelopment: true,
        apps: .init(
            admitsAtOnce: { $0 == "app" },
            check: { token async throws(DocumentError) in
                guard token == "app" || token == "slow" else { throw DocumentError(.permissionDenied, "no app") }
            }),
        known: { _ in nil },
        verify: { $0 == "server" ? Requester(.admin) : Requester(.client(nil)) })

    @Test func clientsNeedAnAppAndServersDoNot() async throws {
        let reader = Self.reader
        for authorization in [nil, "Bearer user"] {
            for app in ["app", "slow"] { _ = try await reader.requester(authorization, appCheck: app) }
            for app in [nil, "other"] {
                await #expect(throws: DocumentError(.permissionDenied, "no app")) {
                    try await reader.requester(authorization, appCheck: app)
                }
            }
        }
        for authorization in ["Bearer owner", "Bearer ya29.c.opaque", "Bearer server"] {
            let requester = try await reader.requester(authorization, appCheck: nil)
            #expect(requester.principal == .admin)
        }
    }

    @Test func callsWithoutATaskNeedAnAppToo() {
        let reader = Self.reader
        #expect(reader.known(nil, appCheck: "app") != nil)
        #expect(reader.known(nil, appCheck: nil) == nil)
        #expect(reader.known(nil, appCheck: "slow") == nil)
        #expect(reader.known("Bearer owner", appCheck: nil) != nil)
    }

    @Test func theTokenIsFoundOnEachWire() throws {
        let headers = CallHeaders(HPACKHeaders([(":method", "POST"), ("x-firebase-appcheck", "app")]))
        #expect(headers.appCheck == "app")
        let form = try #require(
            WebChannelForm(
                Array("headers=X-Firebase-AppCheck%3A%20app%0D%0AAuthorization%3ABearer%20user&count=0".utf8)))
        #expect(form.appCheck == "app")
        #expect(form.authorization == "Bearer user")
    }
}
