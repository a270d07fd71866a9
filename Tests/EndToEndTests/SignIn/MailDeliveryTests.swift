import Foundation
import Synchronization
import TestSupport
import Testing

/// Mails and text messages of a real host.
@Suite(.endsHangs) struct MailDeliveryTests {
    private static func account(_ port: Int, _ operation: String, _ json: String) async throws -> HTTPAnswer {
        try await HTTPClient(port: port).send(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=local",
            headers: ["Content-Type": "application/json"], json)
    }

    private static func signUp(_ port: Int) async throws {
        let answer = try await account(port, "signUp", #"{"email":"ada@example.com","password":"old-secret"}"#)
        #expect(answer.status == 200, "\(answer.text)")
    }

    private static let askForReset = #"{"requestType":"PASSWORD_RESET","email":"ada@example.com"}"#

    /// Sets another password with the link of a mail, and signs in with it.
    private static func reset(_ port: Int, by link: String) async throws {
        let code = try #require(link.firstMatch(of: /oobCode=([A-Za-z0-9_-]+)/)).1
        let reset = try await account(port, "resetPassword", #"{"oobCode":"\#(code)","newPassword":"new-secret"}"#)
        #expect(reset.status == 200, "\(reset.text)")
        let signedIn = try await account(
            port, "signInWithPassword", #"{"email":"ada@example.com","password":"new-secret"}"#)
        #expect(signedIn.status == 200, "\(signedIn.text)")
    }

    @Test func aDevelopmentHostSendsMailsBySMTPAndListsThem() async throws {
        var behaviour = MailServer.Behaviour()
        behaviour.login = "shop open sesame"
        try await MailServer.run(behaviour) { server in
            let directory = try HostDirectory()
            try FileManager.default.createDirectory(
                atPath: directory.path + "/mails", withIntermediateDirectories: false)
            try directory.write("Subject: Neues Kennwort für %EMAIL%\n\n%LINK%\n", to: "mails/resetPassword.txt")
            try directory.writeSecrets("SMTP_PASSWORD='open sesame'\n")
            try directory.configure(
                [],
                extra: """
                    "auth": { "mail": {
                      "smtp": { "host": "127.0.0.1", "port": \(server.port), "tls": "none", "user": "shop",
                                "secret": "SMTP_PASSWORD" },
                      "from": "Shop <noreply@shop.example.com>", "templates": "mails" } }
                    """)
            try await RunningHost.serving(in: directory) { host in
                let port = host.auth.port
                try await Self.signUp(port)
                #expect(try await Self.account(port, "sendOobCode", Self.askForReset).status == 200)
                let mail = try #require(await server.next())
                #expect(mail.to == ["ada@example.com"])
                #expect(mail.headers.contains("From: \"Shop\" <noreply@shop.example.com>"))
                #expect(mail.headers.contains("Subject: =?utf-8?B?"))
                let list = try await host.auth.send("GET", "/emulator/v1/projects/demo-shop/oobCodes")
                let listed = try #require(list.json["oobCodes"]?.list.first?["oobLink"]?.text)
                #expect(mail.text.contains(listed))
                #expect(host.process.errors.contains(listed))
                try await Self.reset(port, by: mail.text)
            }
        }
    }

    @Test func killsLoseNoMailThatWasAskedFor() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let isUp = Atomic(false)
        let accepted = AsyncStream<String>.makeStream()
        try await ScriptedServer.run { connection in
            let request = try await connection.request()
            let status = isUp.load(ordering: .acquiring) ? "204 No Content" : "503 Service Unavailable"
            try await connection.send("HTTP/1.1 \(status)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            if isUp.load(ordering: .acquiring) { accepted.continuation.yield(request) }
        } body: { address in
            let directory = try HostDirectory()
            try directory.writeSecrets("HOOK_KEY=whsec_MDEyMzQ1Njc4OWFiY2RlZg==\n")
            try ProductionHost.configure(
                directory,
                extra: """
                    , "auth": { "issuer": "own", "publicAddress": "https://auth.example.com", "mail": {
                        "webhook": { "url": "\(address)", "secret": "HOOK_KEY" } } }
                    """)
            let first = try await ProductionHost.start(in: directory)
            let port = try #require(first.auth)
            try await Self.signUp(port)
            let answer = try await Self.account(port, "sendOobCode", Self.askForReset)
            first.process.send(SIGKILL)
            #expect(answer.status == 200, "\(answer.text)")
            try await first.process.end()
            isUp.store(true, ordering: .releasing)
            let second = try await ProductionHost.start(in: directory)
            defer { second.process.send(SIGKILL) }
            var requests = accepted.stream.makeAsyncIterator()
            let request = try #require(await requests.next())
            #expect(request.lowercased().contains("webhook-signature: v1,"))
            let body = try JSON(parsing: String(request[request.firstRange(of: "\r\n\r\n")!.upperBound...]))
            #expect(body["to"]?.text == "ada@example.com")
            let link = try #require(body["link"]?.text)
            #expect(link.hasPrefix("https://auth.example.com/emulator/action?mode=resetPassword&"))
            try await Self.reset(try #require(second.auth), by: link)
            let code = try #require(link.firstMatch(of: /oobCode=([A-Za-z0-9_-]+)/)).1
            #expect(!first.process.errors.contains(code))
            #expect(!second.process.errors.contains(code))
            second.process.send(SIGTERM)
            #expect(try await second.process.end() == 0)
        }
    }

    @Test func productionWithoutAWayForMailSaysSo() async throws {
        try await ProductionHost.serving(
            extra: #", "auth": { "issuer": "own", "publicAddress": "https://auth.example.com" }"#
        ) { host in
            let port = try #require(host.auth)
            try await Self.signUp(port)
            let answer = try await Self.account(port, "sendOobCode", Self.askForReset)
            #expect(
                answer.json["error"]?["message"]?.text
                    == "OPERATION_NOT_ALLOWED : This host sends no mail: auth.mail in functions.json is missing.")
        }
    }

    @Test(arguments: [
        (
            "Subject: Hi\n%LNK%", "KEY=whsec_MDEyMzQ1Njc4OWFiY2RlZg==",
            "mails/verifyEmail.txt:2: %LNK% has no value here"
        ),
        (
            "Subject: Hi\n%LINK%", "OTHER=x",
            "auth.mail.webhook.secret: the secret KEY has no value. Write KEY=… in .secrets"
        ),
        ("Subject: Hi\n%LINK%", "KEY=short", "the secret KEY is not a key of at least 16 bytes in base64"),
    ]) func mistakesStopTheStart(template: String, secrets: String, message: String) async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try FileManager.default.createDirectory(atPath: directory.path + "/mails", withIntermediateDirectories: false)
        try directory.write(template, to: "mails/verifyEmail.txt")
        try directory.writeSecrets(secrets)
        try directory.configure(
            [],
            extra: """
                "auth": { "mail": { "webhook": { "url": "https://hooks.example.com", "secret": "KEY" },
                                    "templates": "mails" } }
                """)
        let process = try HostProcess(directory)
        #expect(try await process.end() == 1)
        #expect(process.errors.contains(message), "\(process.errors)")
    }
}
