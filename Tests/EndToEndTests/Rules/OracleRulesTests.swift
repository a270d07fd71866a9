import DocumentModel
import FirestoreJSON
import Foundation
import RulesTesting
import SecurityRules
import StrictJSON
import TestSupport
import Testing

/// The tables of conditions and queries, asked of the official emulator as well.
@Suite(
    .enabled(
        if: OfficialEmulator.isInstalled,
        "the official emulator is not installed: apt-get install google-cloud-cli-firestore-emulator, and Java"))
struct OracleRulesTests {
    private static let project = "demo-rules"
    private static let documents = "/v1/projects/\(project)/databases/(default)/documents"

    private static func file(_ blocks: String) -> String {
        """
        rules_version = '2';
        service cloud.firestore {
          match /databases/{database}/documents {
        \(blocks)
          }
        }
        """
    }

    /// - Returns: Whether the rules are accepted.
    private func upload(_ text: String, to emulator: OfficialEmulator) async throws -> Bool {
        let body = try JSONEncoder().encode(["rules": ["files": [["name": "firestore.rules", "content": text]]]])
        return try await emulator.client.send(
            "PUT", "/emulator/v1/projects/\(Self.project):securityRules",
            headers: ["Content-Type": "application/json"], String(decoding: body, as: UTF8.self)
        ).status == 200
    }

    @Test(.endsHangs) func conditionsHoldAsOnTheEmulator() async throws {
        let emulator = try await OfficialEmulator()
        var differences: [String] = []
        let claims = String(ExpressionTable.claims.dropFirst().dropLast())
        let headers = ["Authorization": UnsignedToken.authorization("ada", project: Self.project, claims: claims)]
        func ask(_ rows: [(condition: String, holds: Bool?)]) async throws {
            let blocks = rows.enumerated().map { "match /t\($0)/{id} { allow get: if \($1.condition); }" }
            guard try await upload(Self.file(blocks.joined(separator: "\n")), to: emulator) else {
                if rows.count == 1 {
                    if rows[0].holds != nil { differences.append("\(rows[0].condition): not accepted") }
                } else {
                    // One of them isn't accepted.
                    try await ask(Array(rows[..<(rows.count / 2)]))
                    try await ask(Array(rows[(rows.count / 2)...]))
                }
                return
            }
            for (index, row) in rows.enumerated() {
                let status = try await emulator.client.send(
                    "GET", "\(Self.documents)/t\(index)/x", headers: headers
                ).status
                if (status != 403 && status != 500) != row.holds {
                    differences.append(
                        "\(row.condition): \(status) instead of \(row.holds.map { "\($0)" } ?? "refused")")
                }
            }
        }
        do {
            try await ask(ExpressionTable.rows)
            #expect(differences == [])
        } catch {
            try await emulator.stop()
            throw error
        }
        try await emulator.stop()
    }

    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 3

    /// `SOAK_SECONDS` makes it longer, `SOAK_SEED` repeats a round.
    @Test(.endsHangs(afterWorking: seconds)) func randomConditionsHoldAsOnTheEmulator() async throws {
        let emulator = try await OfficialEmulator()
        var seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        print("the rules' seed is \(seed)")
        let headers = [
            "Authorization": UnsignedToken.authorization(
                "ada", project: Self.project, claims: String(ExpressionTable.claims.dropFirst().dropLast()))
        ]
        let client = ClientIdentity(uid: "ada", claims: Array(ExpressionTable.claims.utf8))
        var differences: [String] = []
        var (rounds, asked) = (0, 0)
        do {
            let end = ContinuousClock.now + .seconds(Self.seconds)
            repeat {
                rounds += 1
                var random = RandomConditions(seed: seed)
                seed &+= 1
                // Those that the emulator refuses to compile, for a regular expression, would refuse all.
                let conditions = (0..<60).map { _ in random.condition() }.filter { !$0.contains("matches") }
                let blocks = conditions.enumerated().map { "match /t\($0)/{id} { allow get: if \($1); }" }
                let text = Self.file(blocks.joined(separator: "\n"))
                guard try await upload(text, to: emulator) else { continue }
                asked += conditions.count
                let rules = ClientRules(.rules(try Ruleset(text)), explains: true)
                let policy = rules.policy(of: client, in: DatabaseID(project: Self.project))
                let view = AccessView(time: .wallClock(), document: { _ in nil }, documentAfter: { _ in nil })
                for (index, condition) in conditions.enumerated() {
                    let answer = try await emulator.client.send(
                        "GET", "\(Self.documents)/t\(index)/x", headers: headers)
                    var reason = "allowed"
                    do { try policy.check(.get(DocumentPath("t\(index)/x"), nil), in: view) } catch {
                        reason = (error as? DocumentError)?.message ?? "\(error)"
                    }
                    // An error of the emulator's own says nothing.
                    guard answer.status != 500, (answer.status != 403) != (reason == "allowed") else { continue }
                    differences.append("\(condition): \(answer.text.prefix(200)), and ours: \(reason)")
                }
                // The emulator doesn't accept some rounds.
            } while ContinuousClock.now < end || asked < 100 && rounds < 100
            #expect(differences == [])
            #expect(asked >= 100)
        } catch {
            try await emulator.stop()
            throw error
        }
        try await emulator.stop()
    }

    @Test(.endsHangs) func queriesAreAllowedAsOnTheEmulator() async throws {
        let emulator = try await OfficialEmulator()
        var differences: [String] = []
        do {
            _ = try await emulator.client.send(
                "PATCH", "\(Self.documents)/zz/yy", headers: ["Authorization": "Bearer owner"],
                #"{"fields":{"a":{"integerValue":"1"}}}"#)
            for row in QueryTable.rows {
                let rules = Self.file("match \(row.match) { allow list: if \(row.condition); }")
                guard try await upload(rules, to: emulator) else {
                    differences.append("\(row.condition): not accepted")
                    continue
                }
                let query = row.query.replacing("projects/demo-x/", with: "projects/\(Self.project)/")
                let status = try await emulator.client.send(
                    "POST", "\(Self.documents)\(row.parent):runQuery",
                    headers: [
                        "Authorization": UnsignedToken.authorization("ada", project: Self.project),
                        "Content-Type": "application/json",
                    ],
                    #"{"structuredQuery":\#(query)}"#
                ).status
                if (status == 200) != (row.officialAnswer ?? row.isAllowed) {
                    differences.append("\(row.match) \(row.condition) \(row.query): \(status)")
                }
            }
            #expect(differences == [])
        } catch {
            try await emulator.stop()
            throw error
        }
        try await emulator.stop()
    }
}
