import EmbeddedStorage
import DocumentModel
import DocumentStore
import Foundation
import Synchronization

/// Works on the store in a directory until it is killed, and says on standard output what was acknowledged.
///
/// Arguments: the directory, the name of the round, the seed, how many clients, and what goes on beside them; with
/// `events` among that the clients are those of ``EventLoad``. Each line of the output is `ack`, the name of a record or
/// an order and the commit's time in microseconds.
@main
struct StoreTorture {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 5, let seed = UInt64(arguments[3]), let clients = Int(arguments[4]) else {
            say("usage: StoreTorture DIRECTORY ROUND SEED CLIENTS [events] [indexes] [backups] [compaction]")
            exit(2)
        }
        let start = ContinuousClock.now
        let store = try DocumentStore(
            engine: EmbeddedStore(in: arguments[1]).open(),
            now: { Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) },
            elapsed: { start.duration(to: .now) })
        try store.start()
        let work = try await load(arguments, on: store, seed: seed)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for work in arguments[5...].compactMap(SideWork.init) {
                group.addTask { try await work.run(on: store, in: arguments[1], seed: seed) }
            }
            let parent = getppid()
            group.addTask {
                try await work(clients) { getppid() != parent }
                // Whoever would have killed it has gone.
                exit(3)
            }
            try await group.waitForAll()
        }
    }

    /// What the clients do.
    private static func load(
        _ arguments: [String], on store: DocumentStore, seed: UInt64
    ) async throws -> @Sendable (_ clients: Int, _ isOver: @escaping @Sendable () -> Bool) async throws -> Void {
        let acknowledged: @Sendable (String, Timestamp) -> Void = { say("ack \($0) \($1.microseconds)") }
        if arguments.contains("events") {
            let load = try EventLoad(store: store, name: arguments[2], seed: seed, acknowledged: acknowledged)
            return { try await load.run(clients: $0, isOver: $1) }
        }
        let workload = Workload(store: store, name: arguments[2], seed: seed) { acknowledged($0.id, $1) }
        try await workload.prepare()
        return { try await workload.run(clients: $0, isOver: $1) }
    }

    /// Writes a line at once, so that a kill can't take back what was said.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
