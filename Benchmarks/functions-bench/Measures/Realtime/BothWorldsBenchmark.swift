import Foundation

/// Measures transactional callables that read and write a document and a node of the Realtime Database in one commit, beside
/// the same with two documents.
struct BothWorldsBenchmark: Benchmark {
    static let name = "database"
    private static let clients = 16

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        try await HostProcess.with(["FixtureFunctions"], in: directory) { host in
            var (both, documents) = (LoadReport(), LoadReport())
            for _ in 0..<pace.rounds {
                documents.add(try await load("moveDocuments", host))
                both.add(try await load("moveBoth", host))
            }
            var section = Section(
                "Realtime Database: a transaction over a document and a node, \(Self.clients) clients",
                notes: [
                    "reference: the same callable with a second document in place of the node",
                    "each client has its own; host and worker together",
                ])
            section.add("read and write both", both, beside: documents, cpu: .ratioAtMost(1.2))
            return section
        }
    }

    private func load(_ function: String, _ host: HostProcess) async throws -> LoadReport {
        let port = host.ports.functions
        let callers = (0..<Self.clients).map { client in
            RepeatingCaller([
                Requests(port: port).post("/\(HostProcess.project)/us-central1/\(function)", #"{"data":"c\#(client)"}"#)
            ]) {
                $0.status == 200
            }
        }
        return try await Load.run(callers, to: port, for: pace.length, of: host.child.tree)
    }
}
