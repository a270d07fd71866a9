import Foundation
import RulesTesting
import TestSupport
import Testing

/// Requests that rules decide, over REST: by the host, and by the official emulator.
@Suite(.endsHangs) struct ExchangeTests {
    @Test func theHostDecidesAsTheReferenceSays() async throws {
        try await RunningHost.serving([]) { host in
            let differences = try await Exchanges(client: host.firestore, project: "demo-shop").differences()
            #expect(differences == [])
        }
    }

    @Test(
        .enabled(
            if: OfficialEmulator.isInstalled,
            "the official emulator is not installed: apt-get install google-cloud-cli-firestore-emulator, and Java"))
    func theEmulatorDecidesAlike() async throws {
        let emulator = try await OfficialEmulator()
        do {
            let differences = try await Exchanges(client: emulator.client, project: "demo-rules").differences()
            #expect(differences == [])
        } catch {
            try await emulator.stop()
            throw error
        }
        try await emulator.stop()
    }
}

/// Asks all rows of a host or an emulator.
private struct Exchanges {
    let client: HTTPClient
    let project: String

    private var root: String { "projects/\(project)/databases/(default)/documents" }

    func differences() async throws -> [String] {
        var differences: [String] = []
        for file in ExchangeTable.files {
            let status = try await upload(file.text)
            if (status == 200) != file.isAccepted { differences.append("\(file.name): \(status)") }
        }
        for row in ExchangeTable.rows {
            guard try await upload(row.text) == 200 else {
                differences.append("\(row.name): not accepted")
                continue
            }
            _ = try await client.send(
                "DELETE", "/emulator/v1/projects/\(project)/databases/(default)/documents", headers: Self.admin)
            for (path, fields) in row.documents {
                _ = try await client.send(
                    "PATCH", "/v1/\(root)/\(path)", headers: Self.admin, #"{"fields":{\#(fields)}}"#)
            }
            for (number, step) in row.steps.enumerated() {
                let status = try await send(step)
                let isAllowed = status != 403
                if isAllowed != step.isAllowed { differences.append("\(row.name), step \(number): \(status)") }
            }
        }
        return differences
    }

    private static let admin = ["Authorization": "Bearer owner", "Content-Type": "application/json"]

    private func upload(_ text: String) async throws -> Int {
        let body = try JSONEncoder().encode(["rules": ["files": [["name": "firestore.rules", "content": text]]]])
        return try await client.send(
            "PUT", "/emulator/v1/projects/\(project):securityRules", headers: ["Content-Type": "application/json"],
            String(decoding: body, as: UTF8.self)
        ).status
    }

    private func send(_ step: RulesExchange.Step) async throws -> Int {
        var headers = ["Content-Type": "application/json"]
        if step.isSignedIn { headers["Authorization"] = UnsignedToken.authorization("ada", project: project) }
        func ask(_ method: String, _ path: String, _ body: String = "") async throws -> Int {
            try await client.send(method, "/v1/\(root)\(path)", headers: headers, body).status
        }
        switch step.request {
        case .get(let path): return try await ask("GET", "/" + path)
        case .list(let path): return try await ask("GET", "/" + path)
        case .set(let path, let fields): return try await ask("PATCH", "/" + path, #"{"fields":{\#(fields)}}"#)
        case .update(let path, let fields, let mask):
            let query = mask.map { "updateMask.fieldPaths=\($0)" }.joined(separator: "&")
            return try await ask("PATCH", "/\(path)?\(query)", #"{"fields":{\#(fields)}}"#)
        case .delete(let path): return try await ask("DELETE", "/" + path)
        case .commit(let writes):
            let text = writes.joined(separator: ",").replacing(/NAME\(([^)]*)\)/) { "\(root)/\($0.1)" }
            return try await ask("POST", ":commit", #"{"writes":[\#(text)]}"#)
        }
    }
}

/// A token without a signature, as the emulators take in development.
enum UnsignedToken {
    /// - Parameter claims: further members of the payload, in JSON.
    static func authorization(_ uid: String, project: String, claims: String = "") -> String {
        func part(_ text: String) -> String {
            Data(text.utf8).base64EncodedString().replacing("=", with: "").replacing("+", with: "-")
                .replacing("/", with: "_")
        }
        let now = Int(Date().timeIntervalSince1970)
        let all = """
            {"iss":"https://securetoken.google.com/\(project)","aud":"\(project)","sub":"\(uid)","user_id":"\(uid)",\
            "iat":\(now - 10),"exp":\(now + 3600),"auth_time":\(now - 10),\
            "firebase":{"identities":{},"sign_in_provider":"password"}\(claims.isEmpty ? "" : ",")\(claims)}
            """
        return "Bearer \(part(#"{"alg":"none","typ":"JWT"}"#)).\(part(all))."
    }
}
