import Foundation
import TestSupport
import Testing

/// Security rules of a running host.
struct RulesTests {
    private static let documents = "/v1/projects/demo-shop/databases/(default)/documents"

    private static func file(_ condition: String) -> String {
        """
        rules_version = '2';
        service cloud.firestore {
          match /databases/{database}/documents {
            match /notes/{note} {
              allow read, write: if \(condition);
            }
          }
        }
        """
    }

    private static func serving(_ rules: String, _ body: (RunningHost) async throws -> Void) async throws {
        let directory = try HostDirectory()
        try directory.write(rules, to: "own.rules")
        try directory.configure([], extra: #""rules": "own.rules""#)
        try await RunningHost.serving(in: directory, body)
    }

    private static func write(_ host: RunningHost, _ path: String, as user: SignedInUser?) async throws -> Int {
        try await host.firestore.send(
            "PATCH", "\(documents)/\(path)", headers: user?.headers ?? [:],
            #"{"fields":{"owner":{"stringValue":"\#(user?.uid ?? "")"}}}"#
        ).status
    }

    private static func read(_ host: RunningHost, _ path: String, as user: SignedInUser?) async throws -> Int {
        try await host.firestore.send("GET", "\(documents)/\(path)", headers: user?.headers ?? [:]).status
    }

    @Test func theFilesRulesDecide() async throws {
        let owned = """
            request.auth != null && request.auth.token.firebase.sign_in_provider == 'anonymous'
              && (resource == null || resource.data.owner == request.auth.uid)
            """
        try await Self.serving(Self.file(owned)) { host in
            let (ada, bob) = (try await SignedInUser.create(host), try await SignedInUser.create(host))
            #expect(try await Self.write(host, "notes/1", as: ada) == 200)
            #expect(try await Self.write(host, "notes/1", as: bob) == 403)
            #expect(try await Self.write(host, "notes/2", as: nil) == 403)
            #expect(try await Self.write(host, "other/1", as: ada) == 403)
            #expect(try await Self.read(host, "notes/1", as: ada) == 200)
            #expect(try await Self.read(host, "notes/1", as: bob) == 403)

            func list(_ owner: String) async throws -> HTTPAnswer {
                let filter = """
                    {"fieldFilter":{"field":{"fieldPath":"owner"},"op":"EQUAL","value":{"stringValue":"\(owner)"}}}
                    """
                return try await host.firestore.send(
                    "POST", "\(Self.documents):runQuery", headers: ada.headers,
                    #"{"structuredQuery":{"from":[{"collectionId":"notes"}],"where":\#(filter)}}"#)
            }
            #expect(try await list(ada.uid).status == 200)
            #expect(try await list(bob.uid).status == 403)
            // The log says what was refused, and why.
            try await Bound.wait("the refusal is logged") {
                host.process.errors.contains("document.path=notes/1 rules=5:7: false rules.method=update")
            }
            #expect(
                host.process.errors.contains("resource.data.owner == request.auth.uid: false"), "\(host.process.errors)"
            )
            #expect(!host.process.errors.contains(ada.token))
        }
    }

    @Test func withoutRulesDevelopmentIsOpenAndSaysSo() async throws {
        try await RunningHost.serving([]) { host in
            let status = try await Self.write(host, "any/1", as: nil)
            #expect(status == 200)
            #expect(
                host.process.output.contains(
                    "there are no security rules for documents: every client may read and write"))
        }
    }

    @Test func aChangedFileIsTakenOverUnlessItHasErrors() async throws {
        try await Self.serving(Self.file("true")) { host in
            #expect(try await Self.write(host, "notes/1", as: nil) == 200)
            try host.directory.write(Self.file("tru ="), to: "own.rules")
            try await Bound.wait("the error is logged") {
                host.process.errors.contains("own.rules:5:33: expected ';', found '='")
            }
            #expect(try await Self.write(host, "notes/1", as: nil) == 200)
            try host.directory.write(Self.file("request.auth != null"), to: "own.rules")
            try await Bound.wait("the rules are taken over") { host.process.errors.contains("the rules have changed") }
            #expect(try await Self.write(host, "notes/1", as: nil) == 403)
        }
    }

    @Test func aFileWithErrorsStopsTheStart() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try directory.write(Self.file("1 is integer"), to: "own.rules")
        try directory.configure([], extra: #""rules": "own.rules""#)
        let host = try HostProcess(directory)
        #expect(try await host.end() != 0)
        #expect(host.errors.contains("own.rules:5:34: 'integer' is not a type"), "\(host.errors)")
    }

    /// As Firebase's test library sends them.
    @Test func rulesAreUploaded() async throws {
        try await RunningHost.serving([]) { host in
            func upload(_ text: String) async throws -> HTTPAnswer {
                var body = Data()
                body = try JSONEncoder().encode([
                    "rules": ["files": [["name": "firestore.rules", "content": text]]]
                ])
                return try await host.firestore.send(
                    "PUT", "/emulator/v1/projects/demo-shop:securityRules",
                    headers: ["Content-Type": "application/json"], String(decoding: body, as: UTF8.self))
            }
            let good = try await upload(Self.file("request.auth.uid == note"))
            #expect(good.status == 200 && good.text == "{}")
            #expect(try await Self.write(host, "notes/1", as: nil) == 403)
            let warned = try await upload(Self.file("true"))
            #expect(warned.json["issues"]?[0]?["severity"]?.text == "WARNING")
            let bad = try await upload(Self.file("("))
            #expect(bad.status == 400)
            #expect(bad.json["error"]?["status"]?.text == "INVALID_ARGUMENT")
            #expect(bad.text.contains("L5:30 expected an expression, found ';'"), "\(bad.text)")
            // The rules before are still there.
            #expect(try await Self.write(host, "notes/1", as: nil) == 200)
        }
    }

    @Test(arguments: [
        ("request.auth != null", 0, "the rules can be used"),
        ("true", 0, "5:7: warning: everybody may change these documents"),
        ("(", 1, "5:30: error: expected an expression, found ';'"),
    ])
    func theCommandChecksAFile(condition: String, code: Int32, line: String) async throws {
        let directory = try HostDirectory()
        try directory.write(Self.file(condition), to: "own.rules")
        let (status, text) = try Self.check(directory.path + "/own.rules")
        #expect(status == code)
        #expect(text.contains(line), "\(text)")
    }

    @Test func theCommandChecksRulesBeforeTheirBundleIsBuilt() throws {
        let directory = try HostDirectory()
        try directory.write(Self.file("request.auth != null"), to: "own.rules")
        try directory.configure(
            bundles: #"{ "name": "app", "executable": "built/App" }"#, extra: #""rules": "own.rules""#)
        let (status, text) = try Self.check("--config", directory.configuration)
        #expect(status == 0)
        #expect(text.contains("the rules can be used"), "\(text)")
        try FileManager.default.removeItem(atPath: directory.path + "/own.rules")
        #expect(try Self.check("--config", directory.configuration).status == 2)
    }

    @Test func theCommandSaysWhyAFileCannotBeChecked() throws {
        let directory = try HostDirectory()
        let file = directory.path + "/own.rules"
        func reason() throws -> String {
            let errors = Pipe()
            #expect(try Self.check([file], errors: errors).status == 2)
            return String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        }
        #expect(try reason() == "functions-host: there is no file \(file)\n")
        try Data([0xFF]).write(to: URL(fileURLWithPath: file))
        #expect(try reason() == "functions-host: \(file) isn't text in UTF-8\n")
    }

    /// Runs `rules check`.
    private static func check(_ arguments: String...) throws -> (status: Int32, output: String) {
        try check(arguments)
    }

    /// - Parameter errors: where the standard error goes to; by default, to that of the tests.
    private static func check(_ arguments: [String], errors: Pipe? = nil) throws -> (status: Int32, output: String) {
        let process = Process()
        if let errors { process.standardError = errors }
        process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
        process.arguments = ["rules", "check"] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.start()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    /// With the host's documents, and without performing anything.
    @Test func theCommandExplainsADecision() async throws {
        try await Self.serving(Self.file("resource.data.owner == request.auth.uid || request.auth.token.admin")) {
            host in
            _ = try await host.firestore.send(
                "PATCH", "\(Self.documents)/notes/1", headers: ["Authorization": "Bearer owner"],
                #"{"fields":{"owner":{"stringValue":"ada"}}}"#)
            func explain(_ arguments: String...) throws -> (code: Int32, text: String) {
                try run(["explain"] + arguments)
            }
            func run(_ arguments: [String]) throws -> (code: Int32, text: String) {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
                process.arguments = ["rules"] + arguments + ["--config", host.directory.configuration]
                let output = Pipe()
                process.standardOutput = output
                try process.start()
                let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
                process.waitUntilExit()
                return (process.terminationStatus, text)
            }
            let own = try explain("get", "notes/1", "--as", "ada")
            #expect(own.code == 0)
            #expect(own.text.hasPrefix("allowed by 5:7\n"), "\(own.text)")
            #expect(own.text.contains("5:29  resource.data.owner = 'ada'"))
            let other = try explain("delete", "notes/1", "--as", "bob")
            #expect(other.code == 1)
            #expect(other.text.contains("5:72: there is no member 'admin'"), "\(other.text)")
            #expect(
                try explain("write", "notes/1", "--as", "eve", "--claims", #"{"admin":true}"#, "--written", "{}").code
                    == 0)
            #expect(try explain("list", "notes").code == 1)
            // Without its claims, it would be another user.
            #expect(try explain("get", "notes/1", "--as", "ada", "--claims", "{admin:true}").code == 64)
            // More than fits into the address of a request.
            try host.directory.write(
                Self.file("true") + "\n" + String(repeating: "// %&=+ é\n", count: 10_000), to: "long.rules")
            let long = try explain("get", "notes/1", "--rules", host.directory.path + "/long.rules")
            #expect(long.code == 0 && long.text.hasPrefix("allowed by 5:7\n"), "\(long.text)")
            // What can't be explained isn't refused.
            let missing = host.directory.path + "/missing.rules"
            #expect(try explain("get", "notes/1", "--rules", missing).code == 64)
            #expect(try explain("get", "notes/1", "--env", "nowhere").code == 64)
            #expect(try explain("perform", "notes/1").code == 64)
            #expect(try run(["coverage", "--env", "nowhere"]).code == 64)
            // Explanations aren't decisions.
            #expect(try run(["coverage"]).text == "5:7  allowed 0, refused 0  never decided anything\n")
            #expect(try await Self.read(host, "notes/1", as: nil) == 403)
            let coverage = try run(["coverage"])
            #expect(coverage.text == "5:7  allowed 0, refused 1  never allowed anything\n" && coverage.code == 1)
            // Nothing was written.
            let note = try await host.firestore.send(
                "GET", "\(Self.documents)/notes/1", headers: ["Authorization": "Bearer owner"])
            #expect(note.text.contains("ada"))
        }
    }
}
