import Foundation
import NIOCore
import RealtimeModel
import StorageEngine

/// Measures the time from a write until the listeners of others have it: one, and as many sockets as a machine has.
struct PushBenchmark: Benchmark {
    static let name = "database"
    private static let path = "rooms/hot/last"
    private static let otherWriters = 4
    /// Between two writes of one of them.
    private static let otherPause = TimeAmount.milliseconds(10)
    /// Between two writes that all sockets hear of, while others write.
    private static let pause = Duration.milliseconds(500)

    var pace: Pace

    private var sockets: Int { pace.count(10_000, quick: 1000) }
    private var rounds: Int { pace.count(20, quick: 10) }

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Realtime Database: write → push over WebSocket; the writer is another client",
            notes: [
                "one listener: reference is the same rows committed and synced by plain SQLite; what is beyond that is "
                    + "after the sync",
                "\(sockets) sockets: the reference is a bare NIO server in its own process that sends the same bytes to as "
                    + "many, plus our write without listeners. The sockets' clients stand for other machines: all others go "
                    + "before their thread",
                "others: \(Self.otherWriters) clients that each set a value of their own every "
                    + "\(Int(Self.otherPause.seconds * 1000)) ms, beside the same without any push; a write that all "
                    + "sockets hear of each \(Int(Self.pause.seconds * 1000)) ms",
            ])
        let folder = try folder("host", in: directory)
        try await HostProcess.with([], settings: SocketBenchmark.settings, in: folder) { host in
            try await one(host, in: directory, &section)
            try await many(host, in: directory, &section)
        }
        return section
    }

    // MARK: One listener

    private func one(_ host: HostProcess, in directory: URL, _ section: inout Section) async throws {
        let rounds = pace.count(3000, quick: 1000)
        let (measured, cpu) = try await SocketAudience.with(1, at: host.ports.database) { audience in
            try await audience.listen { _ in Self.path }
            for round in 0..<rounds / 10 { _ = try await audience.write(Self.message(-1 - round), to: Self.path) }
            let cpu = try host.child.tree.rootCPUSeconds()
            var measured: [SocketAudience.Round] = []
            for round in 0..<rounds { measured.append(try await audience.write(Self.message(round), to: Self.path)) }
            return (measured, try host.child.tree.rootCPUSeconds() - cpu)
        }
        let commits = try await plain(in: directory)
        let commit = commits.percentile(0.5)
        let heard = measured.map(\.heard)
        for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
            section.add(
                Row(
                    "one listener, until the push: \(name)", .milliseconds(LoadReport.percentile(part, of: heard)),
                    beside: .milliseconds(commits.percentile(part))))
        }
        section.add(
            Row(
                "one listener, until the writer's answer: p50",
                .milliseconds(LoadReport.median(measured.map(\.answered)))))
        section.add(
            Row(
                "one listener, push after the sync: p50", .milliseconds(max(0, LoadReport.median(heard) - commit)),
                aim: .atMost(.milliseconds(0.001))))
        section.add(Row("one listener: CPU of a write with its push", .microseconds(cpu / Double(rounds))))
    }

    /// The rows of the same writes, each committed by plain SQLite.
    private func plain(in directory: URL) async throws -> LoadReport {
        let engine = RecordingEngine()
        let commits = try await OpenedTree.with(engine) { tree in
            for round in 0..<pace.count(3000, quick: 1000) {
                try await tree.set(Self.path, .string(Self.text(round)))
            }
            return engine.takeRecords()
        }
        let plain = try PlainSQLite(file: directory.appendingPathComponent("plain.sqlite"))
        return try plain.replay(commits[...], width: 1)
    }

    // MARK: Many listeners

    private func many(_ host: HostProcess, in directory: URL, _ section: inout Section) async throws {
        let alone = try await SocketAudience.with(0, at: host.ports.database) { audience in
            try await measure(host.child.tree) { try await audience.write(Self.message($0), to: Self.path).answered }
        }
        let (quiet, ours, loaded) = try await SocketAudience.with(
            sockets, at: host.ports.database, yields: true
        ) { audience in
            try await audience.listen { _ in Self.path }
            _ = try await audience.write(Self.message(-1), to: Self.path)
            let ours = try await measure(host.child.tree) {
                try await audience.write(Self.message($0), to: Self.path).heard
            }
            let quiet = try await others(host) { _ in }
            return (
                quiet, ours,
                try await others(host) { _ = try await audience.write(Self.message(100 + $0), to: Self.path) }
            )
        }
        let message = SocketAudience.push(Self.message(0), to: Self.path)
        var frame = ByteBuffer(bytes: [0x81])
        frame.writeInteger(UInt8(126))
        frame.writeInteger(UInt16(message.utf8.count))
        frame.writeString(message)
        let bare = try await BroadcastProcess.start(frame, in: directory)
        let (theirs, bareLoaded): (Cost, LoadReport)
        do {
            (theirs, bareLoaded) = try await BroadcastAudience.with(
                sockets, at: bare.port, size: frame.readableBytes
            ) { audience in
                let theirs = try await measure(bare.child.tree) { _ in try await audience.round() }
                return (theirs, try await others(host) { _ in _ = try await audience.round() })
            }
            await bare.child.stop()
        } catch {
            await bare.child.stop()
            throw error
        }
        let name = "\(sockets) sockets"
        section.add(
            Row(
                "\(name): CPU of a write with its pushes", .milliseconds(ours.cpu),
                beside: .milliseconds(theirs.cpu + alone.cpu), aim: .ratioAtMost(1.5)))
        section.add(
            Row(
                "\(name): CPU of a push", .microseconds(ours.cpu / Double(sockets)),
                beside: .microseconds(theirs.cpu / Double(sockets))))
        section.add(
            Row(
                "\(name), until the last has it: p50", .milliseconds(LoadReport.median(ours.times)),
                beside: .milliseconds(LoadReport.median(theirs.times) + LoadReport.median(alone.times))))
        for (what, report) in [("others", loaded), ("others, while the bare server sends", bareLoaded)] {
            section.check(report, what)
            section.add(
                Row(
                    "\(name), \(what): p99", .milliseconds(report.percentile(0.99)),
                    beside: .milliseconds(quiet.percentile(0.99)), aim: what == "others" ? .ratioAtMost(2) : nil))
        }
    }

    private struct Cost {
        var cpu: Double
        var times: [Double]
    }

    /// Measures rounds, one after the other.
    private func measure(_ server: ProcessTree, _ round: (Int) async throws -> Double) async throws -> Cost {
        var times: [Double] = []
        let cpu = try server.rootCPUSeconds()
        for number in 0..<rounds { times.append(try await round(number)) }
        // The last socket has its bytes before the server has ended its work.
        try await Task.sleep(for: .milliseconds(20))
        return Cost(cpu: (try server.rootCPUSeconds() - cpu) / Double(rounds), times: times)
    }

    /// Other clients' writes, while a body runs again and again.
    private func others(_ host: HostProcess, _ body: (Int) async throws -> Void) async throws -> LoadReport {
        try await PacedWriters.run(Self.otherWriters, at: host.ports.database, every: Self.otherPause) {
            for round in 0..<pace.count(20, quick: 8) {
                try await body(round)
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    /// A chat's message; each differs from the one before.
    private static func text(_ round: Int) -> String {
        "The train to Kyoto leaves at 10:42 from platform 3; seats are in car 7. Don't be late! (\(1_000_000 + round))"
    }

    private static func message(_ round: Int) -> String { #""\#(text(round))""# }
}
