import DocumentModel
import DocumentStore
import Foundation
import Synchronization

/// Works on the store in a directory until it is killed, and says on standard output what was acknowledged.
///
/// Arguments: the directory, the name of the round, the seed, how many clients, and what goes on beside them. Each line of the output is `ready`, or
/// `ack`, the name of a record and the commit's time in microseconds.
@main
struct StoreTorture {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 5, let seed = UInt64(arguments[3]), let clients = Int(arguments[4]) else {
            say("usage: StoreTorture DIRECTORY ROUND SEED CLIENTS [indexes] [backups] [compaction]")
            exit(2)
        }
        let start = ContinuousClock.now
        let store = try DocumentStore(
            engine: SQLiteEngine(file: arguments[1] + "/documents.db"),
            now: { Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) },
            elapsed: { start.duration(to: .now) })
        try store.start()
        let workload = Workload(store: store, name: arguments[2], seed: seed) { path, time in
            say("ack \(path.id) \(time.microseconds)")
        }
        try await workload.prepare()
        say("ready")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for work in arguments[5...].compactMap(SideWork.init) {
                group.addTask { try await work.run(on: store, in: arguments[1], seed: seed) }
            }
            let parent = getppid()
            group.addTask {
                try await workload.run(clients: clients) { getppid() != parent }
                // Whoever would have killed it has gone.
                exit(3)
            }
            try await group.waitForAll()
        }
    }

    /// Writes a line at once, so that a kill can't take back what was said.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
