import ArgumentParser
import DocumentModel
import DocumentStore
import Foundation

/// What goes through a whole store.
enum StoreScan: String, CaseIterable, ExpressibleByArgument {
    case aggregation
    /// Each document in the order of their names, as an export has them.
    case export
    /// Each delivery is ended.
    case drain

    static let ofDocuments: [Self] = [.aggregation, .export]

    func run(on file: String) async throws {
        let engine = try SQLiteEngine(file: file)
        let store = try DocumentStore(engine: engine, now: Timestamp.now)
        try store.start()
        switch self {
        case .aggregation:
            let query = Query(parent: try DocumentPath("shops/main"), collectionID: "products")
            _ = try await store.ask(
                .aggregate(
                    query, [.count(upTo: nil), .sum(FieldPath("stock")), .average(FieldPath("number"))], .strong))
        case .export:
            var bytes = 0
            // Blocks, and there is nothing else to do here.
            try store.export(begin: { _ in }) { bytes += DocumentLimits.size(of: $0.fields) }
            guard bytes > 0 else { throw LoadError("there are no documents in \(file)") }
        case .drain: try await DeliveriesBenchmark.drainAll(of: store)
        }
        await store.shutdown()
        try engine.close()
    }

    /// The most memory that a process had which did this and nothing else.
    func peakBytes(of file: String, log: URL, within time: Duration = .seconds(60)) async throws -> Int {
        let program = Bundle.main.executableURL?.path ?? CommandLine.arguments[0]
        let child = try ChildProcess(program, ["scan-store", "--file", file, "--kind", rawValue], log: log)
        do {
            let peak = try await child.wait(for: "end of the scan", within: time) {
                let line = child.output.split(separator: "\n").first { $0.hasPrefix("peak ") }
                return line.flatMap { Int($0.dropFirst(5)) }
            }
            await child.stop()
            return peak
        } catch {
            await child.stop()
            throw error
        }
    }
}
