import Foundation
import NIOCore

/// Measures lookups by each key, pages of the list and sign-ins among many users and among few, which should cost the same.
struct ManyUsersBenchmark: Benchmark {
    static let name = "many-users"
    private static let few = 1000
    private static let page = 100

    var pace: Pace

    private enum Kind: String, CaseIterable {
        case uid = "lookup by uid"
        case email = "lookup by email address"
        case phone = "lookup by phone number"
        case provider = "lookup by provider"
        case page = "a page of 100"
        case signIn = "password sign-in, scrypt with 1 MiB"
    }

    func run(in directory: URL) async throws -> Section {
        let many = pace.count(1_000_000, quick: 20_000)
        let inFew = try await measure(Self.few, in: try folder("few", in: directory))
        let inMany = try await measure(many, in: try folder("many", in: directory))
        var section = Section(
            "\(many) users, 1 client",
            notes: [
                "reference: the same among \(Self.few)",
                String(
                    format: "import: %.0f users per second, with hashes that are kept", inMany.importsPerSecond),
            ])
        for kind in Kind.allCases {
            guard let ours = inMany.reports[kind], let theirs = inFew.reports[kind] else { continue }
            section.check(ours, kind.rawValue)
            section.check(theirs, kind.rawValue)
            section.add(
                Row(
                    "\(kind.rawValue): p50", .milliseconds(ours.percentile(0.5)),
                    beside: .milliseconds(theirs.percentile(0.5)), aim: .ratioAtMost(1.3)))
            section.add(
                Row(
                    "\(kind.rawValue): CPU each", .microseconds(ours.cpuPerOperation),
                    beside: .microseconds(theirs.cpuPerOperation), aim: .ratioAtMost(1.3)))
        }
        return section
    }

    private struct Figures {
        var reports: [Kind: LoadReport] = [:]
        var importsPerSecond = 0.0
    }

    private func measure(_ count: Int, in directory: URL) async throws -> Figures {
        let settings = #""auth": { "passwords": { "hashMiB": 1 } }"#
        return try await HostProcess.with([], settings: settings, in: directory) { host in
            let users = try StoredUsers(port: host.ports.auth)
            let start = ContinuousClock.now
            try await users.store(0..<count)
            var figures = Figures()
            figures.importsPerSecond = Double(count) / (ContinuousClock.now - start).seconds
            for kind in Kind.allCases {
                // Spread over all of them, so that no page of the file is always in memory.
                let numbers = (0..<1000).map { $0 * 7919 % count }
                let requests = numbers.map { request(kind, users, $0, of: count) }
                var report = LoadReport()
                for _ in 0..<pace.rounds {
                    let caller = RepeatingCaller(requests) { answer in
                        answer.status == 200 && String(buffer: answer.body).contains("person")
                    }
                    report.add(
                        try await Load.run([caller], to: host.ports.auth, for: pace.length, of: host.child.tree))
                }
                figures.reports[kind] = report
            }
            return figures
        }
    }

    private func request(_ kind: Kind, _ users: StoredUsers, _ number: Int, of count: Int) -> ByteBuffer {
        switch kind {
        case .uid: users.admin("lookup", #"{"localId":["\#(StoredUsers.uid(number))"]}"#)
        case .email: users.admin("lookup", #"{"email":["\#(StoredUsers.email(number))"]}"#)
        case .phone: users.admin("lookup", #"{"phoneNumber":["\#(StoredUsers.phone(number))"]}"#)
        case .provider:
            users.admin("lookup", #"{"federatedUserId":[{"providerId":"google.com","rawId":"g\#(number)"}]}"#)
        case .page: users.page(after: min(number, count - Self.page - 1), of: Self.page)
        case .signIn:
            users.client(
                "signInWithPassword",
                #"{"email":"\#(StoredUsers.email(number))","password":"\#(StoredUsers.password)","returnSecureToken":true}"#
            )
        }
    }
}
