import Foundation
import NIOCore

/// Measures how well answers and their times tell which email addresses have accounts, where `auth.hideAccounts` is set.
///
/// The figure is the probability that an answer for an account takes longer than one for none: 0.5 tells nothing, 0 and 1
/// tell it each time (the area under the curve of Mann and Whitney's test).
struct AccountTimingBenchmark: Benchmark {
    static let name = "account-timing"
    /// Fewer than the failures after which an account makes its callers wait.
    private static let attemptsEach = 8

    var pace: Pace

    private enum Kind: String, CaseIterable {
        case signIn = "sign-in with a wrong password"
        case reset = "reset of a password"
        case methods = "sign-in methods"

        func request(_ users: StoredUsers, _ email: String) -> ByteBuffer {
            switch self {
            case .signIn:
                users.client(
                    "signInWithPassword", #"{"email":"\#(email)","password":"wrong horse","returnSecureToken":true}"#)
            case .reset: users.client("sendOobCode", #"{"email":"\#(email)","requestType":"PASSWORD_RESET"}"#)
            case .methods:
                users.client("createAuthUri", #"{"identifier":"\#(email)","continueUri":"http://localhost"}"#)
            }
        }
    }

    func run(in directory: URL) async throws -> Section {
        let settings = #""auth": { "hideAccounts": true, "passwords": { "hashMiB": 1 } }"#
        return try await HostProcess.with([], settings: settings, in: directory) { host in
            let accounts = pace.count(300, quick: 100)
            let users = try StoredUsers(port: host.ports.auth)
            try await users.store(0..<accounts)
            var section = Section(
                "What answers tell of accounts, \(accounts * Self.attemptsEach) requests for addresses with accounts "
                    + "and as many for others, in turn, 1 client",
                notes: ["the probability that an answer for an account takes longer; 0.5 tells nothing"])
            for kind in Kind.allCases {
                var (known, unknown) = ([Double](), [Double]())
                var texts: Set<String> = []
                for attempt in 0..<Self.attemptsEach {
                    for number in 0..<accounts {
                        for isKnown in [true, false] {
                            let email = StoredUsers.email(isKnown ? number : number + accounts)
                            let start = ContinuousClock.now
                            let answer = try await Load.ask(kind.request(users, email), of: host.ports.auth)
                            let time = (ContinuousClock.now - start).seconds
                            if attempt > 0 { isKnown ? known.append(time) : unknown.append(time) }
                            texts.insert("\(answer.status) " + Self.common(String(buffer: answer.body), email))
                        }
                    }
                }
                if texts.count > 1 { section.fail("\(kind.rawValue): answers differ: \(texts.sorted())") }
                section.add(
                    Row(
                        kind.rawValue, .share(Self.probability(known, over: unknown)),
                        aim: .between(.share(0.4), .share(0.6))))
                section.add(
                    Row(
                        "\(kind.rawValue): p50", .milliseconds(LoadReport.median(known)),
                        beside: .milliseconds(LoadReport.median(unknown))))
            }
            return section
        }
    }

    /// An answer without what is its own: the address, and secrets.
    private static func common(_ text: String, _ email: String) -> String {
        let text = text.replacing(email, with: "…")
        return text.replacing(/"sessionId":"[^"]*"/, with: "\"sessionId\":…")
    }

    /// How often one of the first values is above one of the second ones.
    private static func probability(_ first: [Double], over second: [Double]) -> Double {
        let sorted = second.sorted()
        var above = 0
        for value in first {
            var (low, high) = (0, sorted.count)
            while low < high {
                let middle = (low + high) / 2
                if sorted[middle] < value { low = middle + 1 } else { high = middle }
            }
            above += low
        }
        return Double(above) / Double(max(1, first.count * second.count))
    }
}
