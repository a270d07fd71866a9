import FirestoreMessages
import Foundation
import NIOCore
import SwiftProtobuf

/// Measures documents over gRPC: a get beside a bare HTTP/2 server, writes beside REST, and all beside the official emulator
/// if it is installed.
struct GRPCBenchmark: Benchmark {
    static let name = "grpc"
    private static let clients = 16
    private static let stored = 1000
    private static let results = 100

    var pace: Pace

    private enum Operation: String, CaseIterable {
        case get, commit
        case transaction = "transaction, 2 reads and 2 writes"
        case query = "query of 100 results"
    }

    func run(in directory: URL) async throws -> Section {
        let emulator = try await EmulatorProcess.start(in: directory)
        do {
            let section = try await HostProcess.with([], in: directory) { host in
                try await measure(host, emulator, in: directory)
            }
            await emulator?.child.stop()
            return section
        } catch {
            await emulator?.child.stop()
            throw error
        }
    }

    private func measure(
        _ host: HostProcess, _ emulator: EmulatorProcess?, in directory: URL
    ) async throws -> Section {
        var section = Section(
            "Documents over gRPC, \(Self.clients) clients",
            notes: [
                "reference of the get: a bare NIOHTTP2 server that answers the same bytes",
                "reference of commit, transaction and query: the same over REST",
                emulator == nil
                    ? "skipped: the official emulator, because java or google-cloud-cli-firestore-emulator is missing"
                    : "then each beside the official emulator, which keeps its documents in memory",
            ])
        let ports = [host.ports.firestore] + (emulator.map { [$0.port] } ?? [])
        for port in ports {
            let writes = (0..<Self.stored).map { Documents.set("stored/d\($0)", Documents.product($0)) }
            try await Documents(port: port).store(writes)
        }
        let answer = try await self.answer(of: host)
        let bare = try await HTTP2ReferenceProcess.start(answering: answer, in: directory)
        do {
            for operation in Operation.allCases { try await measure(operation, host, bare, emulator, &section) }
            await bare.child.stop()
        } catch {
            await bare.child.stop()
            throw error
        }
        guard let echo = try await HTTP2ReferenceProcess.grpcSwift(answering: answer, in: directory) else {
            section.notes.append("skipped: grpc-swift's server, which isn't built: make bench")
            return section
        }
        do {
            try await measure(echo, host, &section)
            await echo.child.stop()
        } catch {
            await echo.child.stop()
            throw error
        }
        return section
    }

    /// Compares a get with grpc-swift's answer of the same bytes.
    private func measure(
        _ echo: HTTP2ReferenceProcess, _ host: HostProcess, _ section: inout Section
    ) async throws {
        var (ours, theirs) = (LoadReport(), LoadReport())
        for _ in 0..<pace.rounds {
            ours.add(try await load(.get, host.ports.firestore, host.child.tree, pace.length))
            theirs.add(try await load(.get, echo.port, echo.child.tree, pace.length))
        }
        section.add("get, grpc-swift", ours, beside: theirs, cpu: nil)
    }

    private func measure(
        _ operation: Operation, _ host: HostProcess, _ bare: HTTP2ReferenceProcess, _ emulator: EmulatorProcess?,
        _ section: inout Section
    ) async throws {
        var (ours, reference, theirs) = (LoadReport(), LoadReport(), LoadReport())
        for round in 0..<pace.rounds {
            ours.add(try await load(operation, host.ports.firestore, host.child.tree, pace.length))
            if operation == .get {
                reference.add(try await load(operation, bare.port, bare.child.tree, pace.length))
            } else {
                reference.add(try await rest(operation, host))
            }
            guard let emulator else { continue }
            var length = pace.length
            // Java compiles while it runs, so the first round is a warm-up.
            if round == 0 { length.warmUp = pace.isQuick ? .seconds(3) : .seconds(15) }
            theirs.add(try await load(operation, emulator.port, emulator.child.tree, length))
        }
        section.add(
            operation.rawValue, ours, beside: reference,
            cpu: operation == .get ? .ratioAtMost(2) : operation == .query ? nil : .ratioAtMost(1.2))
        guard emulator != nil else { return }
        section.check(theirs, "\(operation.rawValue), emulator")
        section.add(
            Row(
                "\(operation.rawValue): rate, emulator", .perSecond(ours.perSecond),
                beside: .perSecond(theirs.perSecond), aim: .ratioAtLeast(8)))
        section.add(
            Row(
                "\(operation.rawValue): CPU each, emulator", .microseconds(ours.cpuPerOperation),
                beside: .microseconds(theirs.cpuPerOperation), aim: .ratioAtMost(0.125)))
    }

    // MARK: Loads

    private func load(
        _ operation: Operation, _ port: Int, _ server: ProcessTree, _ length: Load.Length
    ) async throws -> LoadReport {
        let gets = try (0..<Self.stored).map { try Self.get("stored/d\($0)") }
        let queries = try (0..<Self.stored / Self.results).map { try Self.query(group: $0) }
        let callers: [any GRPCCaller] = (0..<Self.clients).map { client in
            switch operation {
            case .get: RepeatingGRPCCaller(requests: gets, index: client * Self.stored / Self.clients)
            case .commit: CommitGRPCCaller(client: client)
            case .transaction: TransactionGRPCCaller(client: client)
            case .query: RepeatingGRPCCaller(requests: queries, index: client, messages: Self.results)
            }
        }
        return try await GRPCLoad.run(callers, to: port, for: length, of: server)
    }

    private func rest(_ operation: Operation, _ host: HostProcess) async throws -> LoadReport {
        let documents = Documents(port: host.ports.firestore)
        let queries = (0..<Self.stored / Self.results).map { documents.verb("runQuery", Self.queryText(group: $0)) }
        let callers: [any Caller] = (0..<Self.clients).map { client in
            switch operation {
            case .get, .query: RepeatingCaller(queries, from: client)
            case .commit: CommitCaller(documents, client: client)
            case .transaction: TransactionCaller(documents, client: client)
            }
        }
        return try await Load.run(callers, to: host.ports.firestore, for: pace.length, of: host.child.tree)
    }

    private static func get(_ path: String) throws -> GRPCRequest {
        var request = FSBatchGetDocumentsRequest()
        request.database = TransactionGRPCCaller.database
        request.documents = ["\(Documents.root)/\(path)"]
        return try GRPCRequest("BatchGetDocuments", request)
    }

    private static func queryText(group: Int) -> String {
        """
        {"structuredQuery":{"from":[{"collectionId":"stored"}],"where":{"fieldFilter":{"field":{"fieldPath":"group"},\
        "op":"EQUAL","value":{"integerValue":"\(group)"}}},"limit":\(results)}}
        """
    }

    private static func query(group: Int) throws -> GRPCRequest {
        var request = try FSRunQueryRequest(jsonString: queryText(group: group))
        request.parent = Documents.root
        return try GRPCRequest("RunQuery", request)
    }

    /// The bytes with which the host answers a get.
    private func answer(of host: HostProcess) async throws -> ByteBuffer {
        let messages = try await GRPCOnce.ask(try Self.get("stored/d1"), of: host.ports.firestore)
        guard let message = messages.first else { throw LoadError("the get was not answered") }
        var framed = ByteBuffer(integer: UInt8(0))
        framed.writeInteger(UInt32(message.readableBytes))
        framed.writeImmutableBuffer(message)
        return framed
    }
}

/// Sets a document of its own to a different value each time.
private struct CommitGRPCCaller: GRPCCaller {
    let client: Int
    var count = 0

    init(client: Int) { self.client = client }

    mutating func next() throws -> GRPCRequest {
        count += 1
        var request = FSCommitRequest()
        request.database = TransactionGRPCCaller.database
        request.writes = [
            try FSWrite(jsonString: Documents.set("commits/c\(client)", Documents.product(count)))
        ]
        return try GRPCRequest("Commit", request)
    }

    func received(_ messages: [ByteBuffer]) throws -> GRPCRequest? { nil }
}

/// Reads two documents in a transaction and writes both, in two calls, as server libraries do.
private struct TransactionGRPCCaller: GRPCCaller {
    static let database = "projects/\(HostProcess.project)/databases/(default)"

    private enum State {
        case beginning
        case reading([UInt8])
        case committing
    }

    private let paths: [String]
    private var state = State.beginning
    private var count = 0

    init(client: Int) { paths = ["transactions/g\(client)-a", "transactions/g\(client)-b"] }

    mutating func next() throws -> GRPCRequest {
        state = .beginning
        count += 1
        var request = FSBeginTransactionRequest()
        request.database = Self.database
        return try GRPCRequest("BeginTransaction", request)
    }

    mutating func received(_ messages: [ByteBuffer]) throws -> GRPCRequest? {
        switch state {
        case .beginning:
            guard let first = messages.first else { throw LoadError("no transaction came") }
            let begun = try FSBeginTransactionResponse(serializedBytes: Array(first.readableBytesView))
            state = .reading(Array(begun.transaction))
            var request = FSBatchGetDocumentsRequest()
            request.database = Self.database
            request.documents = paths.map { "\(Documents.root)/\($0)" }
            request.transaction = begun.transaction
            return try GRPCRequest("BatchGetDocuments", request)
        case .reading(let transaction):
            state = .committing
            var request = FSCommitRequest()
            request.database = Self.database
            request.writes = try paths.map { try FSWrite(jsonString: Documents.set($0, Documents.product(count))) }
            request.transaction = .init(transaction)
            return try GRPCRequest("Commit", request)
        case .committing: return nil
        }
    }
}
