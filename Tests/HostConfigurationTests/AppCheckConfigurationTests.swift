import Testing

@testable import HostConfiguration

/// The section `appCheck`.
struct AppCheckConfigurationTests {
    private func read(_ appCheck: String, extra: String = "") throws(ConfigurationError) -> HostConfiguration.AppCheck {
        let project = extra.isEmpty ? "demo-shop" : "my-shop-1"
        let text = #"{"project": "\#(project)"\#(extra), "appCheck": \#(appCheck)}"#
        return try ConfigurationReader.read(Array(text.utf8), file: "functions.json", environment: nil).appCheck
    }

    @Test func allKeysAreRead() throws {
        let appCheck = try read(
            """
            { "apps": { "1:12:web:ab": { "debugTokens": ["WEB_DEBUG", "CI_DEBUG_2"], "ttlSeconds": 1800 }, "1:12:ios:c": {} },
              "enforce": { "functions": "enforced", "firestore": "unenforced", "auth": "off" } }
            """)
        var web = HostConfiguration.AppCheck.App(id: "1:12:web:ab")
        web.debugTokens = ["WEB_DEBUG", "CI_DEBUG_2"]
        web.ttlSeconds = 1800
        #expect(appCheck.apps == [web, .init(id: "1:12:ios:c")])
        #expect(appCheck.functions == .enforced)
        #expect(appCheck.firestore == .unenforced)
        #expect(appCheck.auth == .off)
    }

    @Test(arguments: [
        (#"{"apps": []}"#, "is not an object of apps"), (#"{"apps": {"my app": {}}}"#, "\"my app\" is not an app's id"),
        (#"{"apps": {"1:1:web:a": {"debugTokens": ["0c6f9dd3-debug"]}}}"#, "is not the name of a secret"),
        (#"{"apps": {"1:1:web:a": {"ttlSeconds": 60}}}"#, "write 1800 … 604800"),
        (#"{"enforce": {"functions": true}}"#, "is not allowed here"),
        (#"{"enforce": {"storage": "off"}}"#, "unknown key"),
    ])
    func whatIsWrongIsNamed(appCheck: String, message: String) {
        let error = #expect(throws: ConfigurationError.self) { try read(appCheck) }
        #expect("\(error as Any)".contains(message), "\(error as Any)")
    }

    @Test(arguments: [#"{"apps": {"1:1:web:a": {}}}"#, #"{"enforce": {"auth": "enforced"}}"#])
    func productionNeedsAnAuthPortForApps(appCheck: String) throws {
        let google = #", "mode": "production""#
        let error = #expect(throws: ConfigurationError.self) { try read(appCheck, extra: google) }
        #expect("\(error as Any)".contains("needs the auth port"), "\(error as Any)")
        _ = try read(
            appCheck, extra: google + #", "auth": {"issuer": "own", "publicAddress": "https://auth.example.com"}"#)
        _ = try read(#"{"enforce": {"firestore": "enforced"}}"#, extra: google)
    }
}
