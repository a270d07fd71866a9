import DocumentModel
import StrictJSON
import Testing

@testable import ControlAPI

/// The files of `users import` and `users export`.
struct UserFileTests {
    private typealias Row = (uid: String, place: String, problem: String?)

    private func list(_ text: String, size: Int = 64) throws(DocumentError) -> (rows: [Row], members: [String]) {
        var reader = UserListReader()
        var (rows, members) = ([Row](), [String]())
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            for item in try reader.read(Array(bytes[start..<min(start + size, bytes.count)])) {
                switch item {
                case .user(let entry): rows.append((entry.uid, entry.place, entry.problem))
                case .member(let name, let value): members.append("\(name) \(value)")
                }
            }
        }
        try reader.finish()
        return (rows, members)
    }

    /// With a mark beside it, a quote is a part of another character.
    @Test func aNameIsOneFieldOfATable() throws {
        let quoted = UserFile.quoted("x\u{600}\",\nother,true,\"\u{301}y")
        #expect(Array(quoted.utf8) == Array("\"x\u{600}\"\",\nother,true,\"\"\u{301}y\"".utf8))
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func aListIsSplitFromPiecesOfAnySize(size: Int) throws {
        let text = """
            \u{FEFF}{"kind": "a\\"}]", "hash":{"hashAlgorithm":"BCRYPT","x":[1,{}]}, "n":12,"t" : true,
            "users": [
              {"localId":"ada", "displayName":"{\\"[ü"},
              {
                "localId": "bob"
              }
            ],
            "nextPageToken": null }

            """
        let (rows, members) = try list(text, size: size)
        #expect(rows.map(\.uid) == ["ada", "bob"])
        #expect(rows.map(\.place) == ["line 3", "line 4"])
        #expect(rows.allSatisfy { $0.problem == nil })
        #expect(members.count == 5)
        #expect(members.contains(#"hash {"hashAlgorithm":"BCRYPT","x":[1,{}]}"#))
    }

    @Test(arguments: [
        ("", "empty"), ("[]", "line 1: \"[\""), (#"{"users":{}}"#, "line 1: \"{\""),
        ("{\"users\":[\n{\"localId\":\"a\"}", "ends in line 2"), ("{\"users\":[{}\n{}]}", "line 2: \"{\""),
        (#"{"users":[,]}"#, "\",\""), ("{\"users\":[\n{\"localId\":tru}]}", "line 2: "), (#"{"users":[]}}"#, "\"}\""),
        (#"{"users":[1]}"#, "\"1\""), (#"{"users":[]"a":1}"#, "line 1"),
        // A configuration, for example: to import nothing from it would seem to have worked.
        (#"{"project":"demo-shop","auth":{"users":[]}}"#, #"no list "users""#), ("{}", #"no list "users""#),
    ])
    func wrongListsAreRefusedWithTheirLine(text: String, message: String) {
        let error = #expect(throws: DocumentError.self) { try list(text) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        (#"{"localId":"a","mail":"x"}"#, "mail: unknown key"),
        (#"{"localId":"a","emailVerified":"yes"}"#, "emailVerified: "),
        (#"{"localId":"a","passwordHash":"*"}"#, "passwordHash: "),
        (#"{"localId":"a","providerUserInfo":[{"providerId":1}]}"#, "providerUserInfo[0].providerId: "),
        (#"{"localId":"a","createdAt":"soon"}"#, "createdAt: "),
    ])
    func usersWithWrongFieldsAreReported(user: String, problem: String) throws {
        let (rows, _) = try list("{\"users\":[\(user)]}")
        #expect(rows.first?.problem?.hasPrefix(problem) == true, "\(rows)")
    }

    @Test func thePasswordsOfTheEmulatorAreTakenOver() throws {
        var reader = UserListReader()
        let user = #"{"localId":"a","salt":"fakeSaltx","passwordHash":"fakeHash:salt=fakeSaltx:password=a:password=b"}"#
        let items = try reader.read(Array("{\"users\":[\(user)]}".utf8))
        guard case .user(let entry)? = items.first else {
            Issue.record("no user")
            return
        }
        #expect(entry.problem == nil)
        #expect(entry.fields == ["localId": "a", "rawPassword": "a:password=b"])
    }

    private func table(_ text: String, size: Int) throws -> [UserEntry] {
        var reader = UserTableReader()
        var entries: [UserEntry] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            entries += try reader.read(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        return entries + (try reader.finish())
    }

    @Test(arguments: [1, 5, 1000])
    func aTableIsRead(size: Int) throws {
        let accounts = "g1,g@example.com,,," + String(repeating: ",", count: 12)
        let row =
            "ada,a@example.com,true,aGFzaA==,c2FsdA==,\"A, \"\"B\"\"\nC\",http://p,"
            + "\(accounts)1000,2000,+4915112345678,false,\"{\"\"a\"\":1}\"," + String(repeating: ",", count: 24)
        let entries = try table("\(row)\r\nbob\n", size: size)
        #expect(entries.map(\.place) == ["line 1", "line 3"])
        let ada = try #require(entries.first).fields
        #expect(ada["displayName"] == "A, \"B\"\nC")
        #expect(ada["emailVerified"] == true)
        #expect(ada["disabled"] == false)
        #expect(ada["lastSignedInAt"] == "2000")
        #expect(ada["customAttributes"] == #"{"a":1}"#)
        #expect(
            ada["providerUserInfo"]
                == [["providerId": "google.com", "rawId": "g1", "email": "g@example.com"]])
        #expect(entries.last?.fields == ["localId": "bob"])
    }

    @Test(arguments: ["ada,a@example.com\nbob\n", "\"ada\",a@example.com\nbob\n"])
    func aByteOrderMarkIsNotAPartOfTheFirstUID(text: String) throws {
        let entries = try table("\u{FEFF}" + text, size: 2)
        #expect(entries.map { Array($0.uid.utf8) } == [Array("ada".utf8), Array("bob".utf8)])
    }

    @Test func blanksAroundANameAreKeptBetweenQuotes() throws {
        let name = " Ada\u{A0}"
        #expect(UserFile.quoted(name) == "\" Ada\u{A0}\"")
        let entries = try table("ada,,,,,\(UserFile.quoted(name))\n bob ,,,,, Bob \n", size: 3)
        #expect(entries.map { $0.fields["displayName"]?.stringValue } == [name, "Bob"])
        #expect(entries.map(\.uid) == ["ada", "bob"])
    }

    @Test(arguments: [
        ("a,b@c.d,maybe", "line 1, column 3 (emailVerified)"), ("x\na,\"b", "line 2: a quote"),
        ("a,\"b\"c", "line 1: there is text"), ("a" + String(repeating: ",x", count: 53), "54 columns"),
        ("a,,,*", "column 4 (passwordHash)"),
    ])
    func wrongTablesAreRefusedWithTheirLine(text: String, message: String) {
        let error = #expect(throws: DocumentError.self) { try table(text, size: 4) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    // MARK: Exports

    private static let scheme: JSONObject = ["hashAlgorithm": "STANDARD_SCRYPT", "cpuMemCost": 1024]
    private static let lines = [
        #"{"format":"functions-host documents"}"#,
        #"{"user":{"localId":"a","createdAt":"1","lastLoginAt":"2","disabled":false,"email":"a@example.com","emailVerified":true,"displayName":"x, \"y\"","passwordHash":"-_8=","salt":"_w==","hash":{"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1024},"validSince":"1","providerUserInfo":[{"providerId":"password","rawId":"a@example.com"},{"providerId":"google.com","rawId":"g","federatedId":"g"},{"providerId":"oidc.own","rawId":"o"}]}}"#,
        #"{"user":{"localId":"b","createdAt":"1","disabled":true,"passwordHash":"AA==","salt":"AA==","hash":{"hashAlgorithm":"BCRYPT"},"mfaInfo":[{"mfaEnrollmentId":"1","totpInfo":{"sharedSecretKey":"A"}},{"mfaEnrollmentId":"2","phoneInfo":"+49151"}]}}"#,
        #"{"count":0,"users":2}"#,
    ]

    private func export(
        _ format: UserFile.Format, isWhole: Bool = false
    ) throws -> (text: String, omissions: UserFile.Omissions) {
        var file = UserFile(format, isWhole: isWhole, scheme: Self.scheme)
        var bytes = try file.beginning()
        for line in Self.lines { bytes += try file.text(of: Array(line.utf8)) ?? [] }
        bytes += file.end
        #expect(file.count == 2)
        return (String(decoding: bytes, as: UTF8.self), file.omissions)
    }

    @Test func aJSONFileHasTheFieldsOfFirebase() throws {
        let (text, omissions) = try export(.json)
        #expect(omissions == UserFile.Omissions(passwords: 1, accounts: 1, secondFactors: 1))
        let json = try JSONValue(parsing: Array(text.utf8))
        #expect(json["hash"] == .object(Self.scheme))
        let (a, b) = (json["users"]?[0]?.objectValue, json["users"]?[1]?.objectValue)
        #expect(
            a == [
                "localId": "a", "createdAt": "1", "lastSignedInAt": "2", "disabled": false, "email": "a@example.com",
                "emailVerified": true, "displayName": "x, \"y\"", "passwordHash": "+/8=", "salt": "/w==",
                "providerUserInfo": [["providerId": "google.com", "rawId": "g"]],
            ])
        #expect(
            b == [
                "localId": "b", "createdAt": "1", "disabled": true,
                "mfaInfo": [["mfaEnrollmentId": "2", "phoneInfo": "+49151"]],
            ])
        #expect(try list(text).rows.map(\.uid) == ["a", "b"])
    }

    @Test func allFieldsAreKeptIfAskedFor() throws {
        let (text, omissions) = try export(.json, isWhole: true)
        #expect(omissions.isEmpty)
        let users = try JSONValue(parsing: Array(text.utf8))["users"]
        for (index, line) in Self.lines[1...2].enumerated() {
            #expect(users?[index] == (try JSONValue(parsing: Array(line.utf8))["user"]))
        }
    }

    @Test func aTableCanBeReadBack() throws {
        let (text, omissions) = try export(.csv)
        #expect(omissions.secondFactors == 2)
        #expect(text.split(separator: "\n").allSatisfy { $0.hasSuffix(",") })
        let entries = try table(text, size: 10)
        #expect(entries.map(\.uid) == ["a", "b"])
        #expect(entries.first?.fields["displayName"] == "x, \"y\"")
        #expect(entries.first?.fields["passwordHash"] == "+/8=")
        #expect(entries.last?.fields["disabled"] == true)
    }
}
