import StorageEngine
import ArgumentParser
import DocumentModel
import DocumentStore
import Foundation

/// Operations that read a whole store.
enum StoreScan: String, CaseIterable, ExpressibleByArgument {
    case aggregation
    /// Reads each document in name order, as an export does.
    case export

    func run(on file: String) async throws {
        let engine = try MeasuredEngine.open(file)
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        switch self {
        case .aggregation:
            let query = Query(parent: try DocumentPath("shops/main"), collectionID: "products")
            _ = try await store.aggregate(
                query, [.count(upTo: nil), .sum(FieldPath("stock")), .average(FieldPath("number"))])
        case .export:
            var bytes = 0
            // Blocks, but nothing else runs in this process.
            try store.export(begin: { _ in }) { bytes += DocumentLimits.size(of: $0.fields) }
            guard bytes > 0 else { throw LoadError("there are no documents in \(file)") }
        }
        await store.shutdown()
        try engine.close()
    }

    /// Runs the scan in its own process, and returns the peak memory of that process.
    func peakBytes(of file: String, log: URL) async throws -> Int {
        let text = try await ChildProcess.outputLine(
            "peak", of: ["scan-store", "--file", file, "--kind", rawValue], log: log, within: .seconds(60))
        guard let peak = Int(text) else { throw LoadError("a scan printed an invalid peak of memory: \(text)") }
        return peak
    }
}
