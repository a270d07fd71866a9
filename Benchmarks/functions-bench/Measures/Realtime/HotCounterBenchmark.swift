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
                "increments: PUT over REST. Transactions over REST: a get, and sets on condition of its ETag",
                "transactions over WebSocket: sets on condition of a hash, by clients that listen to the counter. Each "
                    + "push of the hot one goes to all; so do, in the second comparison, those of the separate ones",
            ])
        try await HostProcess.with([], in: directory) { host in
            try await increments(host, &section)
            try await restTransactions(host, &section)
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

    /// The tries of transactions.
    private struct Tries {
        var most = 0
        var sum = 0

        func rows(_ what: String, of operations: Int) -> [Row] {
            [
                Row("\(what): most tries of one", .count(most), aim: .atMost(.count(25))),
                Row("\(what): tries each", .share(Double(sum) / Double(max(1, operations)))),
            ]
        }
    }

    private func restTransactions(_ host: HostProcess, _ section: inout Section) async throws {
        let each = pace.count(100, quick: 25)
        var (hot, separate) = (LoadReport(), LoadReport())
        var (tries, others) = (Tries(), Tries())
        for round in 0..<pace.rounds {
            let path = "rest-hot-\(round)"
            hot.add(try await restTransact(each, host, &tries) { _ in path })
            guard try await value(path, host) == each * Self.clients else { throw LoadError("transactions were lost") }
            separate.add(try await restTransact(each, host, &others) { "rest-\(round)/client-\($0)" })
        }
        guard others.most == 1 else { throw LoadError("a transaction that is alone took \(others.most) tries") }
        let what = "transactions over REST"
        section.add(what, hot, beside: separate, rate: .ratioAtLeast(1.0 / 3))
        for row in tries.rows(what, of: hot.operations) { section.add(row) }
    }

    private func restTransact(
        _ each: Int, _ host: HostProcess, _ tries: inout Tries, path: (Int) -> String
    ) async throws -> LoadReport {
        let rest = RealtimeREST(port: host.ports.database)
        try await create((0..<Self.clients).map(path), rest)
        let all = Collector<Int>()
        let callers = (0..<Self.clients).map { ETagCaller(rest, path: path($0), transactions: each, tries: all) }
        let report = try await Load.runToEnd(callers, to: host.ports.database, of: host.child.tree)
        tries.most = max(tries.most, all.all.max() ?? 0)
        tries.sum += all.all.reduce(0, +)
        return report
    }

    private func create(_ paths: [String], _ rest: RealtimeREST) async throws {
        let requests = paths.map { rest.put($0, "0") }
        try await Load.runToEnd([ListCaller(requests)], to: rest.requests.port).check()
    }

    private func transactions(_ host: HostProcess, _ section: inout Section) async throws {
        let each = pace.count(100, quick: 25)
        var (hot, heard, separate) = (LoadReport(), LoadReport(), LoadReport())
        var (tries, others) = (Tries(), Tries())
        for round in 0..<pace.rounds {
            let path = "hot-transactions-\(round)"
            hot.add(try await transact(each, host, &tries, listeningTo: nil) { _ in path })
            guard try await value(path, host) == each * Self.clients else { throw LoadError("transactions were lost") }
            let (all, own) = ("heard-\(round)", "own-\(round)")
            heard.add(try await transact(each, host, &others, listeningTo: all) { "\(all)/client-\($0)" })
            separate.add(try await transact(each, host, &others, listeningTo: nil) { "\(own)/client-\($0)" })
        }
        guard others.most == 1 else { throw LoadError("a transaction that is alone took \(others.most) tries") }
        let what = "transactions over WebSocket"
        section.add(what, hot, beside: separate, rate: .ratioAtLeast(1.0 / 3))
        section.add(
            Row(
                "\(what), beside separate ones that all hear of: rate", .perSecond(hot.perSecond),
                beside: .perSecond(heard.perSecond), aim: .ratioAtLeast(1.0 / 3)))
        for row in tries.rows(what, of: hot.operations) { section.add(row) }
    }

    /// - Parameter listened: where all clients listen; nil for each to its own path.
    private func transact(
        _ each: Int, _ host: HostProcess, _ tries: inout Tries, listeningTo listened: String?, path: (Int) -> String
    ) async throws -> LoadReport {
        let rest = RealtimeREST(port: host.ports.database)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var clients: [NIOLoopBound<TransactionSocket>] = []
        var sockets: [NIOLoopBound<RealtimeSocket>] = []
        var ends: [EventLoopFuture<TransactionSocket.Record>] = []
        try await create((0..<Self.clients).map(path), rest)
        for number in 0..<Self.clients {
            let path = path(number)
            let socket = try await RealtimeSocket.connect(to: host.ports.database, on: loop)
            sockets.append(socket)
            let end = loop.makePromise(of: TransactionSocket.Record.self)
            ends.append(end.futureResult)
            let listening = loop.makePromise(of: Void.self)
            clients.append(
                try await loop.submit {
                    let client = TransactionSocket(
                        socket.value, path: path, listeningTo: listened ?? path, transactions: each, end: end)
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
            tries.sum += record.tries
            tries.most = max(tries.most, record.mostTries)
        }
        report.elapsed = (ContinuousClock.now - start).seconds
        report.cpu = try host.child.tree.cpuSeconds() - cpu
        try await loop.submit { for socket in opened { socket.value.close() } }.get()
        return report
    }
}
