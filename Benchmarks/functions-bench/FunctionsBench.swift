import ArgumentParser
import Foundation
import NIOCore
import StorageEngine

/// Measures the host, beside references. Build it for release: debug builds say little.
@main
struct FunctionsBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "functions-bench",
        abstract: "Measures the host, beside references.",
        subcommands: [
            RunCommand.self, ReferenceCommand.self, HTTP2ReferenceCommand.self, BroadcastCommand.self, ScanCommand.self,
            DrainCommand.self,
        ],
        defaultSubcommand: RunCommand.self)
}

/// `functions-bench reference-http`
struct ReferenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reference-http", abstract: "Serves the reference of the callable benchmark.")

    @Option(help: "The port to listen on.")
    var port: Int

    func run() async throws { try await ReferenceServer(port: port).run() }
}

/// `functions-bench reference-http2`
struct HTTP2ReferenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reference-http2", abstract: "Serves the reference of the gRPC benchmark.")

    @Option(help: "The port to listen on.")
    var port: Int

    @Option(help: "The file with the answer to every call.")
    var answer: String

    func run() async throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: answer))
        try await HTTP2Reference(port: port, answer: ByteBuffer(bytes: bytes)).run()
    }
}

/// `functions-bench reference-broadcast`
struct BroadcastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reference-broadcast",
        abstract: "Serves the reference of the Realtime Database's pushes to many sockets.")

    @Option(help: "The port to listen on.")
    var port: Int

    @Option(help: "The file with the message to send.")
    var message: String

    func run() async throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: message))
        try await BroadcastProcess.serve(ByteBuffer(bytes: bytes), on: port)
    }
}

/// `functions-bench scan-store`
struct ScanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan-store",
        abstract: "Scans a whole store, and prints its peak memory.")

    @Option(help: "The store's file.")
    var file: String

    @Option(help: "The kind of scan: \(StoreScan.allCases.map(\.rawValue).joined(separator: ", ")).")
    var kind: StoreScan

    func run() async throws {
        try await kind.run(on: file)
        FileHandle.standardOutput.write(Data("peak \(try OwnProcess.peakResidentBytes())\n".utf8))
        // Runs until it is terminated, so that its end isn't mistaken for a failure.
        try await Task.sleep(for: .seconds(600))
    }
}

/// `functions-bench drain-store`
struct DrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain-store",
        abstract: "Drains a function's deliveries with handlers that end at once, and prints the cost.")

    @Option(help: "The store's file.")
    var file: String

    @Option(help: "The function.")
    var function: String

    func run() async throws {
        let report = try await DispatcherDrain(file: file, function: function).run()
        FileHandle.standardOutput.write(try Data("drained ".utf8) + JSONEncoder().encode(report) + Data("\n".utf8))
        // Runs until it is terminated, so that its end isn't mistaken for a failure.
        try await Task.sleep(for: .seconds(600))
    }
}

/// `functions-bench`
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Runs the benchmarks and prints a table.")

    private static let benchmarks: [any Benchmark.Type] = [
        CallableBenchmark.self, HTTPBenchmark.self, ColdStartBenchmark.self, HostStartBenchmark.self,
        PurchaseBenchmark.self, TransferBenchmark.self,
        EventBenchmark.self, ReleaseBenchmark.self, LimitsBenchmark.self,
        DocumentBenchmark.self, DocumentCopyBenchmark.self, GRPCBenchmark.self, TargetBenchmark.self,
        RulesBenchmark.self, QueryBenchmark.self,
        StoreBenchmark.self,
        GroupCommitBenchmark.self, SignInBenchmark.self, ManyUsersBenchmark.self, AccountTimingBenchmark.self,
        ListenerBenchmark.self, DeliveriesBenchmark.self, AttackBenchmark.self,
        RealtimeWriteBenchmark.self, RealtimeGetBenchmark.self, RealtimeQueryBenchmark.self,
        LargeTreeBenchmark.self, PushBenchmark.self, SocketBenchmark.self, HotCounterBenchmark.self,
        RealtimeRulesBenchmark.self, ReferenceEventBenchmark.self, BothWorldsBenchmark.self, DatabaseCopyBenchmark.self,
        EditBenchmark.self,
    ]

    /// Several benchmarks may have the same name.
    private static let names = benchmarks.map { $0.name }.reduce(into: [String]()) { names, name in
        if !names.contains(name) { names.append(name) }
    }

    @Flag(help: "Measure for less time: under two minutes in all.")
    var quick = false

    @Option(parsing: .upToNextOption, help: "Only these: \(names.joined(separator: ", ")).")
    var only: [String] = []

    @Option(help: "Only those of them whose type's name contains this, such as HotCounter.")
    var matching: String?

    @Option(help: "The engine that keeps the data: sqlite or rocksdb.")
    var engine: EmbeddedEngineKind?

    private var chosen: [any Benchmark.Type] {
        Self.benchmarks.filter { benchmark in
            (only.isEmpty || only.contains(benchmark.name))
                && (matching.map { "\(benchmark)".contains($0) } ?? true)
        }
    }

    func validate() throws {
        for name in only where !Self.names.contains(name) {
            throw ValidationError(
                "there is no benchmark \"\(name)\"; the benchmarks are \(Self.names.joined(separator: ", "))")
        }
        if chosen.isEmpty { throw ValidationError("no benchmark matches") }
    }

    func run() async throws {
        #if DEBUG
            print("This is a debug build, whose numbers say little; make bench builds for release.")
        #endif
        RunningChildren.shared.endWithProgram()
        if let engine { MeasuredEngine.choose(engine) }
        var isWhole = true
        for benchmark in chosen {
            var section: Section
            do {
                section = try await benchmark.init(pace: Pace(isQuick: quick)).run()
            } catch {
                section = Section(benchmark.name)
                section.fail("\(error)")
            }
            if section.isVoid { isWhole = false }
            FileHandle.standardOutput.write(Data(section.text.utf8))
        }
        if !isWhole { throw ExitCode(1) }
    }
}

extension EmbeddedEngineKind: ExpressibleByArgument {}
