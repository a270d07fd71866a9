import Foundation
import TestSupport
import Testing

/// `functions-host users`, and users in `data export` and backups.
@Suite(.endsHangs) struct UsersCommandTests {
    private static let extra = #""auth": { "passwords": { "hashMiB": 1 } }"#

    private func users(
        _ arguments: String..., in directory: HostDirectory, input: String? = nil
    ) async throws -> DataCommandRun {
        try await DataCommandRun.run(arguments + ["--json"], in: directory, input: input, command: "users")
    }

    private func signIn(_ host: RunningHost, _ email: String, _ password: String) async throws -> HTTPAnswer {
        try await host.auth.send(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key=local",
            headers: ["Content-Type": "application/json"], #"{"email":"\#(email)","password":"\#(password)"}"#)
    }

    /// A host with a user who has a password, and one who has a hash of another system.
    private func withUsers(_ body: (RunningHost) async throws -> Void) async throws {
        try await RunningHost.serving(extra: Self.extra) { host in
            let made = try await users(
                "create", "--uid", "ada", "--email", "Ada@example.com", "--password-stdin", "--phone", "+4915112345678",
                "--name", "Ada", "--verified", in: host.directory, input: "secret1\nmore\n")
            #expect(made.status == 0, "\(made.errors)\(made.output)")
            // The MD5 of the password without a salt.
            let hash = Data([
                0x5D, 0x41, 0x40, 0x2A, 0xBC, 0x4B, 0x2A, 0x76, 0xB9, 0x71, 0x9D, 0x91, 0x10, 0x17, 0xC5, 0x92,
            ])
            try host.directory.write(
                """
                {"users": [
                {"localId":"old","email":"old@example.com","passwordHash":"\(hash.base64EncodedString())"},
                {"localId":"wrong","email":"nowhere"},
                {"localId":"odd","mail":"x"}
                ]}
                """, to: "old.json")
            let imported = try await users(
                "import", "old.json", "--hash-algo", "md5", "--rounds", "0", in: host.directory)
            #expect(imported.status == 2, "\(imported.errors)\(imported.output)")
            #expect(imported.json?["imported"]?.integer == 1)
            let problems = imported.json?["problems"]?.list.map { $0.text ?? "" }
            #expect(problems == ["line 4, odd: mail: unknown key", "line 3, wrong: email is invalid"])
            try await body(host)
        }
    }

    @Test func usersAreMadeChangedAndDeleted() async throws {
        try await withUsers { host in
            let directory = host.directory
            for name in ["ada", "ADA@example.com", "+4915112345678"] {
                let shown = try await users("show", name, in: directory)
                #expect(shown.json?["users"]?[0]?["localId"]?.text == "ada", "\(name): \(shown.errors)")
                #expect(shown.json?["users"]?[0]?["passwordHash"]?.text == "UkVEQUNURUQ=")
            }
            let page = try await users("list", "--limit", "1", in: directory)
            #expect(page.json?["users"]?.list.map { $0["localId"]?.text } == ["ada"])
            #expect(page.json?["next"]?.text == "ada")
            let rest = try await users("list", "--after", "ada", in: directory)
            #expect(rest.json?["users"]?.list.map { $0["localId"]?.text } == ["old"])
            #expect(rest.json?["next"] == nil)

            let signedIn = try await signIn(host, "ada@example.com", "secret1")
            #expect(signedIn.status == 200)
            #expect(try await signIn(host, "old@example.com", "hello").status == 200)
            #expect(try await users("claims", "ada", #"{"admin":true}"#, in: directory).status == 0)
            #expect(
                try await users("show", "ada", in: directory).json?["users"]?[0]?["customAttributes"]?.text
                    == #"{"admin":true}"#)
            #expect(try await users("claims", "ada", "--clear", in: directory).status == 0)
            #expect(try await users("disable", "ada", in: directory).json?["disabled"] == .bool(true))
            #expect(try await signIn(host, "ada@example.com", "secret1").text.contains("USER_DISABLED"))
            #expect(try await users("enable", "ada", in: directory).status == 0)
            #expect(try await users("revoke", "ada", in: directory).json?["validSince"]?.text != nil)

            // A function is notified as of a deletion by server code, and of the creation.
            let deleted = try await users("delete", "ada", "old", in: directory)
            #expect(deleted.json?["deleted"]?.integer == 2)
            try await Bound.wait("the functions ran") {
                let (welcome, farewell) = (
                    try await host.fields("welcomes/ada"), try await host.fields("farewells/old")
                )
                return welcome != nil && farewell != nil
            }
            #expect(try await host.fields("welcomes/old") == nil)
            let again = try await users("delete", "ada", in: directory)
            #expect(again.status == 1)
            #expect(again.output.contains("ada: there is no such user"))
        }
    }

    @Test(arguments: [
        (["show", "eve"], 1, "there is no such user"),
        (["create", "--email", "ada@example.com"], 1, "another user has"),
        (["create", "--email", "nowhere"], 1, "not an email address"),
        (["create", "--phone", "0151"], 1, "not a phone number"),
        (["create", "--uid", "ada"], 1, "a user with this uid"),
        (["claims", "ada", #"{"aud":1}"#], 1, "aud: tokens have"),
        (["claims", "ada", "[]"], 64, "a JSON object"), (["claims", "ada"], 64, "--clear"),
        (["create", "--password-stdin"], 64, "--email"), (["import", "users.txt"], 64, ".json or .csv"),
        (["import", "missing.json"], 1, "can't be opened"), (["export", "users"], 64, "--format"),
        (["import", "old.json", "--rounds", "3"], 64, "--hash-algo"),
        (["import", "old.json", "--hash-algo", "rot13"], 1, "unknown"),
    ])
    func mistakesAreExplained(arguments: [String], status: Int32, message: String) async throws {
        try await RunningHost.serving(extra: Self.extra) { host in
            #expect(
                try await users("create", "--uid", "ada", "--email", "ada@example.com", in: host.directory).status == 0)
            try host.directory.write(#"{"users":[{"localId":"x","passwordHash":"AAAA"}]}"#, to: "old.json")
            let run = try await DataCommandRun.run(arguments, in: host.directory, command: "users")
            #expect(run.status == status, "\(run.errors)\(run.output)")
            #expect(run.errors.contains(message), "\(run.errors)")
        }
    }

    @Test func withoutAHostUsersAreOnlyExported() async throws {
        let directory = try HostDirectory()
        try directory.configure([])
        #expect(try await users("list", in: directory).status == 3)
        #expect(try await users("export", "users.json", in: directory).status == 1)
    }

    @Test(arguments: ["json", "csv", "emulator", "data"])
    func exportedUsersSignInElsewhere(format: String) async throws {
        let other = try HostDirectory()
        try other.configure([.fixture], extra: Self.extra)
        let file = other.path + "/users" + (format == "emulator" ? "" : "." + (format == "data" ? "jsonl" : format))
        try await withUsers { host in
            let directory = host.directory
            try await host.put("kept/one", #"{"n":{"integerValue":"1"}}"#)
            let run =
                format == "data"
                ? try await host.data("export", file, "--json")
                : try await users(
                    "export", file, "--format", format, in: directory)
            #expect(run.status == 0, "\(run.errors)\(run.output)")
            #expect(run.json?["users"]?.integer == 2)
            let isFirebases = format == "json" || format == "csv"
            #expect(run.json?["omittedPasswords"]?.integer == (format == "data" ? nil : isFirebases ? 1 : 0))
            let again = try await users("export", file, "--format", format == "data" ? "json" : format, in: directory)
            #expect(again.status == 1)
            #expect(again.output.contains("already exists"))
        }
        try await RunningHost.serving(in: other) { host in
            let hash =
                format == "csv"
                ? [
                    "--hash-algo", "STANDARD_SCRYPT", "--mem-cost", "1024", "--block-size", "8", "--parallelization",
                    "1",
                    "--dk-len", "32",
                ] : []
            let run = try await DataCommandRun.run(
                ["import", file] + hash + ["--json"], in: other, command: format == "data" ? "data" : "users")
            #expect(run.status == 0, "\(run.errors)\(run.output)")
            #expect(run.json?[format == "data" ? "users" : "imported"]?.integer == 2)
            #expect(try await signIn(host, "ada@example.com", "secret1").status == 200)
            #expect(try await signIn(host, "ada@example.com", "secret2").status == 400)
            // Firebase's files have no hashes of other systems.
            let isWhole = format == "emulator" || format == "data"
            #expect(try await signIn(host, "old@example.com", "hello").status == (isWhole ? 200 : 400))
            let shown = try await users("show", "ada", in: other).json?["users"]?[0]
            #expect(shown?["phoneNumber"]?.text == "+4915112345678")
            #expect(shown?["emailVerified"] == .bool(true))
            if format == "data" {
                #expect(try await host.fields("kept/one")?.value("n") == "1")
                return
            }
            #expect(try await host.fields("welcomes/ada") == nil)
            let refused = try await DataCommandRun.run(["import", file] + hash, in: other, command: "users")
            #expect(refused.status == 2)
            #expect(refused.output.contains("belongs to an existing account"))
            let replaced = try await DataCommandRun.run(
                ["import", file, "--replace"] + hash, in: other, command: "users")
            #expect(replaced.status == 0)
        }
    }

    @Test func aBackupHasTheUsers() async throws {
        let other = try HostDirectory()
        try other.configure([.fixture], extra: Self.extra)
        try await withUsers { host in
            let run = try await host.data("backup", other.path + "/backup.sqlite")
            #expect(run.status == 0, "\(run.errors)")
        }
        let restored = try await DataCommandRun.run(["restore", other.path + "/backup.sqlite"], in: other)
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(try await DataCommandRun.run(["check"], in: other).status == 0)
        // Without a host.
        let exported = try await users("export", "users.json", "--all-fields", in: other)
        #expect(exported.json?["users"]?.integer == 2, "\(exported.errors)\(exported.output)")
        let mode = try FileManager.default.attributesOfItem(atPath: other.path + "/users.json")[.posixPermissions]
        #expect(mode as? Int == 0o600)
        try await RunningHost.serving(in: other) { host in
            let (ada, old) = (
                try await signIn(host, "ada@example.com", "secret1"), try await signIn(host, "old@example.com", "hello")
            )
            #expect(ada.status == 200)
            #expect(old.status == 200)
        }
    }

    @Test func onlyAnEmulatorsExportOfUsersAloneIsReplaced() async throws {
        try await RunningHost.serving(extra: Self.extra) { host in
            let directory = host.directory
            func export() async throws -> DataCommandRun {
                try await users("export", "export", "--format", "emulator", "--replace", in: directory)
            }
            for _ in 0..<2 {
                let run = try await export()
                #expect(run.status == 0, "\(run.errors)\(run.output)")
                // Not in another order each time.
                let settings = try String(
                    contentsOfFile: directory.path + "/export/auth_export/config.json", encoding: .utf8)
                #expect(settings.hasPrefix(#"{"emailPrivacyConfig":{"#))
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names.filter { $0.hasPrefix("export") } == ["export"])
            // A place that a host needs is refused even if nothing is there yet.
            let place = directory.data + "/documents.sqlite.unfinished"
            let misplaced = try await users("export", place, "--format", "emulator", in: directory)
            #expect(misplaced.status == 1)
            #expect(misplaced.output.contains("is a file of the store"), "\(misplaced.errors)\(misplaced.output)")
            #expect(!FileManager.default.fileExists(atPath: place))
            let parts = #""auth":{"version":"15.28.1","path":"auth_export"},"firestore":{"path":"firestore_export"}"#
            for (name, text) in [
                ("export/notes.txt", "mine"),
                ("export/firebase-export-metadata.json", #"{"version":"15.28.1",\#(parts)}"#),
            ] {
                try directory.write(text, to: name)
                let refused = try await export()
                #expect(refused.status == 1)
                #expect(refused.output.contains("has more than users"), "\(refused.errors)\(refused.output)")
                #expect(refused.output.contains(name.hasSuffix(".txt") ? "notes.txt" : "firestore"))
                #expect(FileManager.default.contents(atPath: directory.path + "/" + name) == Data(text.utf8))
                if name.hasSuffix(".txt") {
                    try FileManager.default.removeItem(atPath: directory.path + "/" + name)
                }
            }
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible, "skipped: it needs the right to mount"))
    func anExportSucceedsIfTheReplacedOneCannotBeDeleted() async throws {
        try await RunningHost.serving(extra: Self.extra) { host in
            let directory = host.directory
            func export() async throws -> DataCommandRun {
                try await users("export", "export", "--format", "emulator", "--replace", in: directory)
            }
            #expect(try await export().status == 0)
            let file = "/auth_export/accounts.json"
            try SmallDisk.pin(directory.path + "/export" + file)
            let run = try await export()
            #expect(run.status == 0, "\(run.errors)\(run.output)")
            let undeleted = try #require(run.json?["undeleted"]?.text)
            try SmallDisk.release(undeleted + file)
            #expect(try await export().json?["undeleted"] == nil)
        }
    }

    @Test func theEmulatorsExportIsRead() async throws {
        try await RunningHost.serving(extra: Self.extra) { host in
            let directory = host.directory
            try FileManager.default.createDirectory(
                atPath: directory.path + "/export/auth_export", withIntermediateDirectories: true)
            try directory.write(
                #"{"version":"15.28.1","auth":{"version":"15.28.1","path":"auth_export"}}"#,
                to: "export/firebase-export-metadata.json")
            try directory.write(
                #"{"signIn":{"allowDuplicateEmails":true},"emailPrivacyConfig":{"enableImprovedEmailPrivacy":false}}"#,
                to: "export/auth_export/config.json")
            try directory.write(
                """
                {"kind":"identitytoolkit#DownloadAccountResponse","users":[{"localId":"eve","createdAt":"1",
                "lastLoginAt":"2","email":"eve@example.com","emailVerified":false,"disabled":false,
                "salt":"fakeSaltA","passwordHash":"fakeHash:salt=fakeSaltA:password=secret3","passwordUpdatedAt":5,
                "validSince":"3","lastRefreshAt":"2026-01-01T00:00:00.000Z","providerUserInfo":[
                {"providerId":"password","email":"eve@example.com","federatedId":"eve@example.com",
                "rawId":"eve@example.com"}]}]}
                """, to: "export/auth_export/accounts.json")
            let run = try await users("import", "export", in: directory)
            #expect(run.status == 0, "\(run.errors)\(run.output)")
            #expect(try await signIn(host, "eve@example.com", "secret3").status == 200)
            let config = try await host.auth.send("GET", "/emulator/v1/projects/demo-shop/config")
            #expect(config.text.contains(#""allowDuplicateEmails":true"#))
        }
    }
}
