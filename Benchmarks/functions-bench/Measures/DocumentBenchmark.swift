import Foundation

/// Measures reading and writing documents over REST, beside the official emulator if it is installed.
struct DocumentBenchmark: Benchmark {
    static let name = "documents"
    private static let clients = 16
    private static let stored = 1000

    var pace: Pace

    private enum Operation: String, CaseIterable {
        case get, commit
        case transaction = "transaction, 2 reads and 2 writes"
    }

    func run(in directory: URL) async throws -> Section {
        let emulator = try await EmulatorProcess.start(in: directory)
        do {
            let section = try await HostProcess.with(["ShopFunctions"], in: directory) { host in
                try await measure(host, emulator)
            }
            await emulator?.child.stop()
            return section
        } catch {
            await emulator?.child.stop()
            throw error
        }
    }

    private func measure(_ host: HostProcess, _ emulator: EmulatorProcess?) async throws -> Section {
        var section = Section("Documents over REST, \(Self.clients) clients")
        section.notes.append(
            emulator == nil
                ? "skipped: the official emulator, because java or google-cloud-cli-firestore-emulator is missing"
                : "reference: the official emulator, which keeps its documents in memory")
        let ports = [host.ports.firestore] + (emulator.map { [$0.port] } ?? [])
        for port in ports {
            let writes = (0..<Self.stored).map { Documents.set("stored/d\($0)", Documents.product($0)) }
            try await Documents(port: port).store(writes)
        }
        for operation in Operation.allCases {
            var (ours, theirs) = (LoadReport(), LoadReport())
            for round in 0..<pace.rounds {
                ours.add(try await load(operation, host.ports.firestore, host.child.tree, length: pace.length))
                guard let emulator else { continue }
                var length = pace.length
                // Java compiles while it runs, so the first round is a warm-up.
                if round == 0 { length.warmUp = pace.isQuick ? .seconds(3) : .seconds(15) }
                theirs.add(try await load(operation, emulator.port, emulator.child.tree, length: length))
            }
            section.add(
                operation.rawValue, ours, beside: emulator == nil ? nil : theirs, rate: .ratioAtLeast(10),
                cpu: .ratioAtMost(0.1))
        }
        return section
    }

    private func load(
        _ operation: Operation, _ port: Int, _ server: ProcessTree, length: Load.Length
    ) async throws -> LoadReport {
        let documents = Documents(port: port)
        let callers: [any Caller] = (0..<Self.clients).map { client in
            switch operation {
            case .get:
                RepeatingCaller(
                    (0..<Self.stored).map { documents.get("stored/d\($0)") }, from: client * Self.stored / Self.clients)
            case .commit: CommitCaller(documents, client: client)
            case .transaction: TransactionCaller(documents, client: client)
            }
        }
        return try await Load.run(callers, to: port, for: length, of: server)
    }
}
