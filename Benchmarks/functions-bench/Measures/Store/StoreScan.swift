import SQLiteStorage
import ArgumentParser
import DocumentModel
import DocumentStore
import Foundation

/// What goes through a whole store.
enum StoreScan: String, CaseIterable, ExpressibleByArgument {
    case aggregation
    /// Each document in the order of their names, as an export has them.
    case export

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
        }
        await store.shutdown()
        try engine.close()
    }

    /// The most memory that a process had which did this and nothing else.
    func peakBytes(of file: String, log: URL) async throws -> Int {
        let text = try await ChildProcess.ownLine(
            "peak", of: ["scan-store", "--file", file, "--kind", rawValue], log: log, within: .seconds(60))
        guard let peak = Int(text) else { throw LoadError("a scan's peak of memory reads \(text)") }
        return peak
    }
}
