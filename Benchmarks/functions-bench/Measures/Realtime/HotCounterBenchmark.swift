import Foundation
import NIOCore
import NIOPosix

/// Measures many clients that change one number, beside as many that change one each.
struct HotCounterBenchmark: Benchmark {
    static let name = "database"
    private static let clients = 64

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Realtime Database: one hot counter, \(Self.clients) clients",
            notes: [
                "reference: the same clients, each with a counter of its own",
                "increments: PUT over REST. Transactions: conditional sets over WebSocket by clients that listen to the "
                    + "counter; each push of the hot one goes to all",
            ])
        try await HostProcess.with([], in: directory) { host in
            try await increments(host, &section)
            try await transactions(host, &section)
        }
        return section
    }

    // MARK: Increments

    private func increments(_ host: HostProcess, _ section: inout Section) async throws {
        let each = pace.count(400, quick: 100)
        var (hot, separate) = (LoadReport(), LoadReport())
        for round in 0..<pace.rounds {
            hot.add(try await increment(each, host) { _ in "hot-\(round)" })
            guard try await value("hot-\(round)", host) == each * Self.clients else {
                throw LoadError("increments were lost")
            }
            separate.add(try await increment(each, host) { "counters-\(round)/client-\($0)" })
        }
        section.add("increments", hot, beside: separate, rate: .ratioAtLeast(1.0 / 3))
    }

    private func increment(
        _ each: Int, _ host: HostProcess, path: (Int) -> String
    ) async throws -> LoadReport {
        let rest = RealtimeREST(port: host.ports.database)
        let callers = (0..<Self.clients).map { client in
            ListCaller(
                Array(repeating: rest.put(path(client), #"{".sv":{"increment":1}}"#), count: each))
        }
        return try await Load.runToEnd(callers, to: host.ports.database, of: host.child.tree)
    }

    private func value(_ path: String, _ host: HostProcess) async throws -> Int? {
        Int(try await RealtimeREST(port: host.ports.database).value(path))
    }

    // MARK: Transactions

    private func transactions(_ host: HostProcess, _ section: inout Section) async throws {
        let each = pace.count(100, quick: 25)
        var (hot, separate) = (LoadReport(), LoadReport())
        var (tries, mostTries) = (0, 0)
        for round in 0..<pace.rounds {
            let path = "transactions-hot-\(round)"
            let report = try await transact(each, host, tries: &tries, mostTries: &mostTries) { _ in path }
            guard try await value(path, host) == each * Self.clients else { throw LoadError("transactions were lost") }
            hot.add(report)
            var (theirTries, theirMost) = (0, 0)
            separate.add(
                try await transact(each, host, tries: &theirTries, mostTries: &theirMost) {
                    "transactions-\(round)/client-\($0)"
                })
            guard theirMost == 1 else { throw LoadError("a transaction that is alone took \(theirMost) tries") }
        }
        section.add("transactions", hot, beside: separate, rate: .ratioAtLeast(1.0 / 3))
        section.add(
            Row("transactions: most tries of one", .count(mostTries), aim: .atMost(.count(25))))
        section.add(Row("transactions: tries each", .share(Double(tries) / Double(max(1, hot.operations)))))
    }

    private func transact(
        _ each: Int, _ host: HostProcess, tries: inout Int, mostTries: inout Int, path: (Int) -> String
    ) async throws -> LoadReport {
        let rest = RealtimeREST(port: host.ports.database)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var clients: [NIOLoopBound<TransactionSocket>] = []
        var sockets: [NIOLoopBound<RealtimeSocket>] = []
        var ends: [EventLoopFuture<TransactionSocket.Record>] = []
        for number in 0..<Self.clients {
            let path = path(number)
            let answer = try await Load.ask(rest.put(path, "0"), of: host.ports.database)
            guard answer.status == 200 else { throw LoadError("no counter: \(answer.excerpt)") }
            let socket = try await RealtimeSocket.connect(to: host.ports.database, on: loop)
            sockets.append(socket)
            let end = loop.makePromise(of: TransactionSocket.Record.self)
            ends.append(end.futureResult)
            let listening = loop.makePromise(of: Void.self)
            clients.append(
                try await loop.submit {
                    let client = TransactionSocket(socket.value, path: path, transactions: each, end: end)
                    client.listen(listening)
                    return NIOLoopBound(client, eventLoop: loop)
                }.get())
            try await listening.futureResult.get()
        }
        let (all, opened) = (clients, sockets)
        let cpu = try host.child.tree.cpuSeconds()
        let start = ContinuousClock.now
        try await loop.submit { for client in all { client.value.begin() } }.get()
        var report = LoadReport()
        for end in ends {
            let record = try await end.get()
            report.add(record.report)
            tries += record.tries
            mostTries = max(mostTries, record.mostTries)
        }
        report.elapsed = (ContinuousClock.now - start).seconds
        report.cpu = try host.child.tree.cpuSeconds() - cpu
        try await loop.submit { for socket in opened { socket.value.close() } }.get()
        return report
    }
}
