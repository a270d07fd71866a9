import Foundation
import Synchronization
import TestSupport
import Testing

/// Functions that misbehave in every way are called at random beside well-behaved ones, while releases are switched: no
/// well-behaved call fails, the host stays as it was, and in the end nothing is left.
@Suite(.endsHangs) struct ChaosTests {
    /// What is called, and with what. None of them takes longer than some seconds to be answered.
    private static let misbehaving: [(function: String, data: String)] = [
        ("trap", "9"), ("exits", "0"), ("exits", "3"), ("trapsUnderOthers", "true"), ("fails", "null"),
        ("hangs", "null"),
        ("ignoresCancellation", "null"), ("spins", "true"), ("blocks", "true"), ("prints", "5000"), ("logs", "5000"),
        ("largeAnswer", "5000000"), ("largeAnswer", "40000000"), ("notANumber", "null"),
        ("allocates", #"{"mebibytes":600,"pause":500}"#), ("allocatesAtOnce", "4000"), ("allocatesInChild", "null"),
        ("startsChildren", "5"), ("startsChildren", "100"), ("startsRunaway", "null"), ("leaksFiles", "5000"),
        ("blocksThreads", "true"), ("blocksThreads", "false"), ("rogue", #""answersTwice""#),
        ("rogue", #""closesLink""#),
        ("rogue", #""writesGarbage""#), ("rogue", #""isReadyTwice""#), ("rogue", #""invokesTheHost""#),
        ("rogue", #""floodsLog""#),
    ]

    private final class Tally: Sendable {
        private let state = Mutex((good: 0, bad: 0, counted: 0, failures: [String]()))
        private let over = Atomic(false)

        var isOver: Bool { over.load(ordering: .relaxed) }
        func end() { over.store(true, ordering: .relaxed) }
        func noteBad() { state.withLock { $0.bad += 1 } }

        func note(_ answer: HTTPAnswer, _ expected: String, counts: Bool) {
            state.withLock { state in
                state.good += 1
                if counts { state.counted += 1 }
                if answer.text != expected { state.failures.append("\(answer.status) \(answer.text), not \(expected)") }
            }
        }

        /// Whether so many calls were made that the test means something.
        var hasEnough: Bool { state.withLock { $0.good > 20 && $0.bad > 5 } }

        var sums: (good: Int, bad: Int, counted: Int, failures: [String]) { state.withLock { $0 } }
    }

    @Test func wellBehavedFunctionsFeelNothing() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 8
        let seed = environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...1_000_000)
        print("chaos: the seed is \(seed)")
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        let host = try await RunningHost.start(in: directory, home: directory.path)
        let bundles = try [host.fixtureBundle("a"), host.fixtureBundle("b")]
        // From here on there is a worker of each function, as after each switch.
        #expect(try await host.deploy(bundles[0], as: "fixture").status == 0)
        let before = try ProcessUse(of: host.process.id)

        let tally = Tally()
        let end = ContinuousClock.now + .seconds(seconds)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<3 { group.addTask { try await Self.behave(host, client, tally) } }
            for client in 0..<3 { group.addTask { await Self.misbehave(host, seed &+ UInt64(client), tally) } }
            defer { tally.end() }
            var number = 0
            while ContinuousClock.now < end || !tally.hasEnough {
                number += 1
                let run = try await host.deploy(bundles[number % 2], as: "fixture")
                #expect(run.status == 0, "\(run.errors)")
                try await Bound.pause(milliseconds: 1000)
            }
            tally.end()
            try await group.waitForAll()
        }
        let sums = tally.sums
        print("chaos: \(sums.good) good calls beside \(sums.bad) bad ones lost nothing")
        #expect(sums.failures.isEmpty, "\(sums.failures.count) of \(sums.good): \(sums.failures.prefix(3))")
        try await host.expectEcho()

        try await Bound.wait("the host holds no more than before") {
            let after = try ProcessUse(of: host.process.id)
            return after.descriptors <= before.descriptors + 64 && after.residentMiB <= before.residentMiB + 96
        }
        host.process.send(SIGTERM)
        #expect(try await host.process.end() == 0)
        try await Bound.wait("every process is gone") { ProcessTable.having("HOME=\(directory.path)").isEmpty }
    }

    private static func behave(_ host: RunningHost, _ client: Int, _ tally: Tally) async throws {
        var number = 0
        while !tally.isOver {
            number += 1
            let echoed = try await host.call("echo", "\"\(client) \(number)\"", region: "asia-northeast1")
            tally.note(echoed, #"{"result":"\#(client) \#(number)"}"#, counts: false)
            let counted = try await host.call("count", "\"chaos-\(client)\"")
            tally.note(counted, #"{"result":\#(number)}"#, counts: true)
        }
    }

    private static func misbehave(_ host: RunningHost, _ seed: UInt64, _ tally: Tally) async {
        var random = SeededGenerator(seed: seed)
        while !tally.isOver {
            guard let (function, data) = misbehaving.randomElement(using: &random) else { return }
            // However it is answered, and whether it is.
            _ = try? await host.call(function, data)
            tally.noteBad()
        }
    }
}

/// What a process holds of the system.
struct ProcessUse {
    var residentMiB: Int
    var descriptors: Int

    init(of pid: Int32) throws {
        let status = String(decoding: try Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/status")), as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
        residentMiB = try #require(kibibytes) / 1024
        descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }
}
