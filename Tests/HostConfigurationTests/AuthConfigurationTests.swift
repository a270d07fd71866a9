@testable import HostConfiguration
import Testing

/// The section `auth`.
struct AuthConfigurationTests {
    private func read(_ auth: String) throws(ConfigurationError) -> HostConfiguration.Auth {
        let text = #"{"project": "demo-shop", "auth": \#(auth)}"#
        return try ConfigurationReader.read(Array(text.utf8), file: "functions.json", environment: nil).auth
    }

    @Test func eachKeyReachesItsField() throws {
        let auth = try read(
            """
            {
              "issuer": "own", "signedTokens": true, "keyRotationDays": 7, "projectNumber": "123", "publicAddress": "https://auth.example.com",
              "authorizedDomains": ["shop.example.com"], "duplicateEmails": true, "hideAccounts": true,
              "passwords": { "minLength": 8, "lowercase": true, "uppercase": true, "digit": true, "symbol": true, "hashMiB": 64 },
              "attempts": { "perAccount": 3, "perAddress": 30 },
              "providers": {
                "google.com": { "clientIDs": ["a", "b"] },
                "oidc.line": { "issuer": "https://access.line.me", "clientIDs": ["c"] },
                "facebook.com": { "appID": "7" },
                "github.com": { "profile": "https://api.github.com/user" }
              }
            }
            """)
        var expected = HostConfiguration.Auth()
        expected.issuer = .own
        expected.signedTokens = true
        expected.keyRotationDays = 7
        expected.projectNumber = "123"
        expected.publicAddress = "https://auth.example.com"
        expected.authorizedDomains = ["shop.example.com"]
        expected.duplicateEmails = true
        expected.hideAccounts = true
        (expected.passwords.minLength, expected.passwords.hashMiB) = (8, 64)
        (expected.passwords.lowercase, expected.passwords.uppercase) = (true, true)
        (expected.passwords.digit, expected.passwords.symbol) = (true, true)
        (expected.attempts.perAccount, expected.attempts.perAddress) = (3, 30)
        var (google, line) = (HostConfiguration.Provider(id: "google.com"), HostConfiguration.Provider(id: "oidc.line"))
        google.clientIDs = ["a", "b"]
        (line.issuer, line.clientIDs) = ("https://access.line.me", ["c"])
        var (facebook, github) = (
            HostConfiguration.Provider(id: "facebook.com"), HostConfiguration.Provider(id: "github.com")
        )
        facebook.appID = "7"
        github.profile = "https://api.github.com/user"
        expected.providers = [google, line, facebook, github]
        #expect(auth == expected)
    }

    @Test(arguments: [
        (#"{"issuer": "me"}"#, "auth.issuer: \"me\" is not allowed here; write \"google\" or \"own\""),
        (#"{"signedTokens": 1}"#, "auth.signedTokens: 1 is neither true nor false"),
        (#"{"projectNumber": "x"}"#, "auth.projectNumber: \"x\" is not a project's number"),
        (#"{"publicAddress": "auth.example.com"}"#, "is not a web address without a path"),
        (#"{"publicAddress": "https://a.example.com/path"}"#, "is not a web address without a path"),
        (#"{"authorizedDomains": ["https://x"]}"#, "is not a domain in lower case"),
        (
            #"{"passwords": {"minLength": 5}}"#,
            "auth.passwords.minLength: 5 is not a number of characters; write 6 … 30"
        ),
        (#"{"passwords": {"hashMiB": 33}}"#, "auth.passwords.hashMiB: 33 is not a power of two"),
        (#"{"atempts": {}}"#, "did you mean \"attempts\"?"),
        (#"{"providers": {"google.com": {}}}"#, "\"clientIDs\" is missing"),
        (#"{"providers": {"oidc.x": {"clientIDs": ["a"]}}}"#, "\"issuer\" is missing"),
        (#"{"providers": {"oidc.x": {"clientIDs": ["a"], "issuer": "http://x.example"}}}"#, "is not an https address"),
        (
            #"{"providers": {"google.com": {"clientIDs": ["a"], "appID": "1"}}}"#,
            "\"appID\" is for providers with access"
        ),
        (#"{"providers": {"facebook.com": {}}}"#, "\"appID\" is missing"),
        (#"{"providers": {"github.com": {}}}"#, "\"profile\" is missing"),
        (#"{"providers": {"github.com": {"profile": "https://x.example", "appID": "1"}}}"#, "are written together"),
    ]) func whatIsWrongIsNamed(auth: String, message: String) {
        do throws(ConfigurationError) {
            _ = try read(auth)
            Issue.record("it was accepted")
        } catch {
            #expect(error.description.contains(message), "\(error.description)")
        }
    }
}
