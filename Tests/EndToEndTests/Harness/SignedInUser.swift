import Testing

/// A user who has signed in anonymously, as an app does at its first start.
struct SignedInUser: Sendable {
    let uid: String
    let token: String

    var headers: [String: String] { ["Authorization": "Bearer \(token)"] }

    static func create(_ host: RunningHost) async throws -> SignedInUser {
        let answer = try await host.auth.send(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=local",
            headers: ["Content-Type": "application/json"], #"{"returnSecureToken":true}"#)
        return SignedInUser(
            uid: try #require(answer.json["localId"]?.text), token: try #require(answer.json["idToken"]?.text))
    }
}
