@testable import HostConfiguration
import Testing
import TextFormats

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
                "oidc.line": { "issuer": "https://access.line.me", "clientIDs": ["c"], "secret": "LINE" },
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
        (line.issuer, line.clientIDs, line.secret) = ("https://access.line.me", ["c"], "LINE")
        var (facebook, github) = (
            HostConfiguration.Provider(id: "facebook.com"), HostConfiguration.Provider(id: "github.com")
        )
        facebook.appID = "7"
        github.profile = "https://api.github.com/user"
        expected.providers = [google, line, facebook, github]
        #expect(auth == expected)
    }

    /// Codes of providers are for the page at this address, whose script writes it as the browser does.
    @Test(arguments: [
        ("https://Auth.Example.com:443", "https://auth.example.com"), ("http://localhost:80", "http://localhost"),
        ("https://auth.example.com:8443", "https://auth.example.com:8443"),
        ("http://localhost:443", "http://localhost:443"),
    ]) func thePublicAddressIsThatOfBrowsers(written: String, address: String) throws {
        #expect(try read(#"{"publicAddress": "\#(written)"}"#).publicAddress == address)
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
        (
            #"{"providers": {"oidc.MyShop": {"clientIDs": ["a"], "issuer": "https://x.example"}}}"#,
            "is in lower case; write \"oidc.myshop\""
        ),
        (
            #"{"providers": {"hub": {"profile": "https://h.example/me", "appID": "1", "secret": "S"}}}"#,
            "\"secret\" needs \"token\""
        ),
        (
            #"{"providers": {"hub": {"profile": "https://h.example/me", "appID": "1", "token": "https://h.example/t"}}}"#,
            "\"secret\" is missing beside it"
        ),
        (
            #"{"providers": {"hub": {"profile": "https://h.example/me", "secret": "S", "token": "https://h.example/t"}}}"#,
            "\"token\" needs \"appID\""
        ),
        (#"{"providers": {"oidc.x": {"clientIDs": ["a"], "secret": "no name"}}}"#, "not the name of a secret"),
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

    // MARK: Messages

    private func production(_ auth: String) throws(ConfigurationError) -> HostConfiguration.Auth {
        let text = #"{"project": "my-shop-1", "mode": "production", "auth": \#(auth)}"#
        return try ConfigurationReader.read(Array(text.utf8), file: "functions.json", environment: nil).auth
    }

    @Test func waysForMessagesAreRead() throws {
        let smtp = try production(
            """
            {"issuer": "own", "publicAddress": "https://auth.example.com",
             "mail": {"smtp": {"host": "smtp.example.com", "tls": "implicit", "user": "shop", "secret": "SMTP_PASSWORD"},
                      "from": "Shop <noreply@shop.example.com>", "replyTo": "help@shop.example.com"},
             "sms": {"webhook": {"url": "https://hooks.example.com/sms", "secret": "HOOK_KEY"}}}
            """)
        let mail = try #require(smtp.mail)
        guard case .smtp(let server) = mail.route else {
            Issue.record("\(mail)")
            return
        }
        #expect(server.port == 465)
        #expect(server.login?.user == "shop")
        #expect(server.login?.secret == "SMTP_PASSWORD")
        #expect(mail.from?.name == "Shop")
        #expect(mail.replyTo?.address == "help@shop.example.com")
        #expect(smtp.sms == HostConfiguration.Webhook(url: "https://hooks.example.com/sms", secret: "HOOK_KEY"))
        let local = try read(#"{"mail": {"smtp": {"host": "mail.lan", "tls": "none"}, "from": "a@example.com"}}"#)
        guard case .smtp(let plain)? = local.mail?.route else {
            Issue.record("\(local)")
            return
        }
        #expect(plain.port == 25)
        #expect(plain.login == nil)
        let hook = try production(
            #"{"issuer": "own", "publicAddress": "http://localhost:9099", "mail": {"webhook": {"url": "http://127.0.0.1:5001/x", "secret": "KEY"}, "links": "https://shop.example.com/account"}}"#
        )
        #expect(hook.mail?.links == "https://shop.example.com/account")
        #expect(hook.mail?.from == nil)
    }

    @Test(arguments: [
        (#"{"mail": {}}"#, "auth.mail: write \"smtp\" with a mail server"),
        (#"{"mail": {"smtp": {"host": "x"}}}"#, "\"from\" is missing"),
        (#"{"mail": {"smtp": {}, "from": "a@b.example"}}"#, "auth.mail.smtp: \"host\" is missing"),
        (#"{"mail": {"smtp": {"host": "a b"}, "from": "a@b.example"}}"#, "is not the name or address of a server"),
        (#"{"mail": {"smtp": {"host": "x", "tls": "ssl"}}}"#, "write \"starttls\" or \"implicit\" or \"none\""),
        (#"{"mail": {"smtp": {"host": "x", "user": "u"}}}"#, "auth.mail.smtp.user: \"secret\" is missing beside it"),
        (#"{"mail": {"smtp": {"host": "x", "secret": "S"}}}"#, "\"user\" is missing beside it"),
        (
            #"{"mail": {"smtp": {"host": "x", "user": "u", "secret": "pa ss!"}}}"#,
            "auth.mail.smtp.secret: this is not the name of a secret"
        ),
        (
            #"{"mail": {"from": "shop", "webhook": {"url": "https://x.example", "secret": "S"}}}"#,
            "is not an address of mail"
        ),
        (#"{"mail": {"smtp": {"host": "x"}, "webhook": {}}}"#, "exclude each other"),
        (#"{"mail": {"webhook": {"secret": "S"}}}"#, "\"url\" is missing"),
        (#"{"mail": {"webhook": {"url": "https://x.example"}}}"#, "\"secret\" is missing"),
        (#"{"mail": {"templates": "nowhere"}}"#, "auth.mail.templates: there is no directory nowhere"),
        (#"{"mail": {"links": "shop"}}"#, "auth.mail.links: \"shop\" is not an https URL"),
        (#"{"sms": {}}"#, "auth.sms: \"webhook\" is missing"),
        (#"{"sms": {"webhok": {}}}"#, "did you mean \"webhook\"?"),
    ]) func whatIsWrongWithMessagesIsNamed(auth: String, message: String) {
        do throws(ConfigurationError) {
            _ = try read(auth)
            Issue.record("it was accepted")
        } catch {
            #expect(error.description.contains(message), "\(error.description)")
            #expect(!error.description.contains("pa ss!"))
        }
    }

    @Test(arguments: [
        (
            #"{"issuer": "own"}"#, "auth: \"publicAddress\" is missing; write where browsers reach the auth port"
        ),
        (
            #"{"issuer": "own", "publicAddress": "http://auth.example.com"}"#,
            "auth.publicAddress: in production http://auth.example.com must be https"
        ),
        (
            #"{"mail": {"webhook": {"url": "https://x.example", "secret": "S"}}}"#,
            "auth.mail: Google's sign-in sends its own messages"
        ),
        (
            #"{"sms": {"webhook": {"url": "https://x.example", "secret": "S"}}}"#,
            "auth.sms: Google's sign-in sends its own messages"
        ),
        (
            #"{"issuer": "own", "sms": {"webhook": {"url": "http://x.example", "secret": "S"}}}"#,
            "would be reached without encryption"
        ),
        (
            #"{"issuer": "own", "mail": {"smtp": {"host": "mail.lan", "tls": "none"}, "from": "a@b.example"}}"#,
            "auth.mail.smtp.tls: mails would cross the network in the clear"
        ),
    ]) func productionNeedsMore(auth: String, message: String) {
        do throws(ConfigurationError) {
            _ = try production(auth)
            Issue.record("it was accepted")
        } catch {
            #expect(error.description.contains(message), "\(error.description)")
        }
    }
}
