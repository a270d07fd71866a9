import DocumentModel
import Foundation
import NIOCore
import SecurityRules

/// Measures decisions of the shop's security rules, and what they add to a get and a commit over REST.
struct RulesBenchmark: Benchmark {
    static let name = "rules"
    private static let clients = 16

    var pace: Pace

    /// The repository's file.
    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("firestore.rules")

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Security rules of the shop, \(Self.clients) clients",
            notes: ["reference of gets and commits: the same host and requests as admin, without rules"])
        try decisions(&section)
        try worstSources(&section)
        try await HostProcess.with([], settings: #""rules": "\#(Self.file.path)""#, in: directory) { host in
            guard let user = try await host.signUp(1).first else { throw LoadError("the sign-up returned no user") }
            try await requests(host, user, &section)
        }
        return section
    }

    // MARK: Decisions in this process

    private func decisions(_ section: inout Section) throws {
        let time = Timestamp(seconds: 1_795_000_000, nanoseconds: 0)
        let auth = RulesRequest.auth(ClientIdentity(uid: "ada", claims: ["email": .string("ada@example.com")]))
        let user = Document(
            path: try DocumentPath("users/ada"), fields: ["role": .string("editor")], createTime: time, updateTime: time
        )
        let documents = RulesDocuments(before: { _ in user }, after: { _ in user })
        let shop = try Ruleset(String(contentsOf: Self.file, encoding: .utf8))
        let reading = try Ruleset(
            """
            rules_version = '2';
            service cloud.firestore {
              match /databases/{database}/documents/products/{product} {
                function role(uid) { return get(/databases/$(database)/documents/users/$(uid)).data.role; }
                allow get: if request.auth != null && role(request.auth.uid) == 'editor';
              }
            }
            """)
        for (what, rules, path, aim) in [
            ("a product: CPU", shop, ["products", "p1"], 1 / 300_000.0),
            ("an item of a user's cart: CPU", shop, ["users", "ada", "cart_items", "i1"], 1 / 300_000.0),
            ("a product with one get: CPU", reading, ["products", "p1"], 1 / 100_000.0),
        ] {
            let request = RulesRequest(.get, database: "(default)", path: path, auth: auth, time: time, resource: user)
            let count = pace.count(300_000, quick: 100_000)
            let start = OwnProcess.cpuSeconds()
            for _ in 0..<count {
                guard try rules.decide(request, documents).isAllowed else { throw LoadError("\(what): refused") }
            }
            let each = (OwnProcess.cpuSeconds() - start) / Double(count)
            section.add(Row(what, .microseconds(each), aim: .atMost(.microseconds(aim))))
        }
    }

    /// Files of 256 KiB that are as bad as possible.
    private func worstSources(_ section: inout Section) throws {
        var worst = 0.0
        for part in [
            "(", "[", "!", "a||", "{'a':", "f(", "/a", "a.", "1+", "match /a/{b} {", "'", "x;", "function f(){",
        ] {
            let start = OwnProcess.cpuSeconds()
            let text =
                "rules_version='2'; service cloud.firestore { match /a/{b} { allow get: if "
                + String(repeating: part, count: 262_000 / part.utf8.count)
            _ = try? Ruleset(text)
            worst = max(worst, OwnProcess.cpuSeconds() - start)
        }
        section.add(Row("the worst file of 256 KiB: CPU", .milliseconds(worst), aim: .atMost(.milliseconds(1))))
    }

    // MARK: Over REST

    private enum Operation: String, CaseIterable {
        case get, commit
        /// Each client's write conflicts with those of the others.
        case contended = "commit to one document"
    }

    private func requests(_ host: HostProcess, _ user: HostProcess.User, _ section: inout Section) async throws {
        let port = host.ports.firestore
        let path = "users/\(user.localId)"
        try await Documents(port: port).store([Documents.set(path, Documents.product(1))])
        for operation in Operation.allCases {
            var (ours, theirs) = (LoadReport(), LoadReport())
            for _ in 0..<2 * pace.rounds {
                theirs.add(try await load(operation, path, Documents(port: port), host))
                ours.add(try await load(operation, path, Documents(port: port, token: user.idToken), host))
            }
            section.add(
                operation.rawValue, ours, beside: theirs, cpu: operation == .contended ? nil : .ratioAtMost(1.15))
        }
    }

    private func load(
        _ operation: Operation, _ path: String, _ documents: Documents, _ host: HostProcess
    ) async throws -> LoadReport {
        let callers = (0..<Self.clients).map { client in
            let request =
                switch operation {
                case .get: documents.get(path)
                case .commit:
                    documents.commit([
                        Documents.set("\(path)/cart_items/\(client)", Documents.cartItem(of: 1))
                    ])
                case .contended: documents.commit([Documents.set(path, Documents.product(1))])
                }
            return RepeatingCaller([request]) { $0.status == 200 }
        }
        return try await Load.run(callers, to: host.ports.firestore, for: pace.length, of: host.child.tree)
    }
}
