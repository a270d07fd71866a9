import Foundation
import NIOCore

/// Measures a transactional callable that moves an amount from one account to another, beside a stored function of
/// PostgreSQL that does the same.
struct TransferBenchmark: Benchmark {
    static let name = "transfer"
    fileprivate static let accounts = 100_000
    private static let clients = 64
    private static let balance = 1_000_000
    /// Of the distribution with hot accounts: the first is drawn by 38 of 100.
    private static let exponent = 1.5

    private enum Draw: String, CaseIterable {
        case uniform = "accounts drawn uniformly"
        case zipf = "accounts drawn by zipf 1.5"

        var aim: Row.Aim { self == .uniform ? .ratioAtLeast(1) : .ratioAtLeast(2) }

        /// What `pgbench` calls.
        var expression: String {
            let accounts = TransferBenchmark.accounts
            return self == .uniform
                ? "random(1, \(accounts))" : "random_zipfian(1, \(accounts), \(TransferBenchmark.exponent))"
        }
    }

    var pace: Pace

    private var seconds: Int { pace.count(5, quick: 2) }

    func run(in directory: URL) async throws -> Section {
        let postgres = try await PostgresProcess.start(in: directory)
        do {
            let section = try await HostProcess.with(["FixtureFunctions"], in: directory) { host in
                try await measure(host, beside: postgres, in: directory)
            }
            await postgres?.child.stop()
            return section
        } catch {
            await postgres?.child.stop()
            throw error
        }
    }

    private func measure(
        _ host: HostProcess, beside postgres: PostgresProcess?, in directory: URL
    ) async throws -> Section {
        let documents = Documents(port: host.ports.firestore)
        try await documents.store(
            (1...Self.accounts).map {
                Documents.set("accounts/\($0)", #""balance":{"integerValue":"\#(Self.balance)"}"#)
            })
        if let postgres { try await prepare(postgres) }
        var section = Section(
            "Transfer between two of \(Self.accounts) accounts, durable, \(Self.clients) clients",
            notes: [
                postgres == nil
                    ? "PostgreSQL is not installed: apt-get install postgresql"
                    : "reference: PostgreSQL with a stored function that locks both rows, prepared, by pgbench"
            ])
        for draw in Draw.allCases {
            var (ours, theirs) = (LoadReport(), PostgresProcess.Report())
            for _ in 0..<pace.rounds {
                ours.add(try await load(draw, host))
                if let postgres { theirs.add(try await load(draw, postgres, in: directory)) }
            }
            section.check(ours, draw.rawValue)
            let isCompared = theirs.operations > 0
            section.add(
                Row(
                    "\(draw.rawValue): rate", .perSecond(ours.perSecond),
                    beside: isCompared ? .perSecond(theirs.perSecond) : nil, aim: draw.aim))
            section.add(
                Row(
                    "\(draw.rawValue): CPU each", .microseconds(ours.cpuPerOperation),
                    beside: isCompared ? .microseconds(theirs.cpuPerOperation) : nil))
            for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
                section.add(Row("\(draw.rawValue): \(name)", .milliseconds(ours.percentile(part))))
            }
            if theirs.failed > 0 { section.fail("\(theirs.failed) transfers of PostgreSQL failed") }
        }
        let sum = try await sum(documents, host)
        if sum != Self.accounts * Self.balance { section.fail("the sum of all balances is \(sum)") }
        if let postgres {
            let sum = try await postgres.run("SELECT sum(balance) FROM accounts")
            if sum != "\(Self.accounts * Self.balance)" { section.fail("PostgreSQL's balances add up to \(sum)") }
        }
        return section
    }

    private func load(_ draw: Draw, _ host: HostProcess) async throws -> LoadReport {
        let table = draw == .zipf ? ZipfTable(count: Self.accounts, exponent: Self.exponent) : nil
        let callers = (0..<Self.clients).map { _ in TransferCaller(Requests(port: host.ports.functions), table) }
        return try await Load.run(
            callers, to: host.ports.functions, for: .init(warmUp: .seconds(1), measured: .seconds(seconds)),
            of: host.child.tree)
    }

    private func load(_ draw: Draw, _ postgres: PostgresProcess, in directory: URL) async throws
        -> PostgresProcess.Report
    {
        let script = directory.appendingPathComponent("transfer.sql")
        let expression = draw.expression
        try """
        \\set a \(expression)
        \\set b \(expression)
        \\if :a = :b
        \\set b 1 + :a % \(Self.accounts)
        \\endif
        SELECT transfer(:a, :b, 1);

        """.write(to: script, atomically: true, encoding: .utf8)
        return try await postgres.run(script: script, clients: Self.clients, seconds: seconds)
    }

    /// Rows are locked in the order of their ids, so that no two transfers wait for each other.
    private func prepare(_ postgres: PostgresProcess) async throws {
        try await postgres.run("CREATE TABLE accounts (id integer PRIMARY KEY, balance bigint NOT NULL)")
        try await postgres.run(
            "INSERT INTO accounts SELECT id, \(Self.balance) FROM generate_series(1, \(Self.accounts)) AS id")
        try await postgres.run(
            """
            CREATE FUNCTION transfer(source integer, target integer, amount bigint) RETURNS void AS $$
            BEGIN
                PERFORM 1 FROM accounts WHERE id IN (source, target) ORDER BY id FOR UPDATE;
                UPDATE accounts SET balance = balance - amount WHERE id = source AND balance >= amount;
                IF NOT FOUND THEN RAISE EXCEPTION 'insufficient funds'; END IF;
                UPDATE accounts SET balance = balance + amount WHERE id = target;
                IF NOT FOUND THEN RAISE EXCEPTION 'no such account'; END IF;
            END
            $$ LANGUAGE plpgsql
            """)
        try await postgres.run("VACUUM ANALYZE accounts")
    }

    private func sum(_ documents: Documents, _ host: HostProcess) async throws -> Int {
        let query = """
            {"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"accounts"}]},\
            "aggregations":[{"alias":"sum","sum":{"field":{"fieldPath":"balance"}}}]}}
            """
        let answer = try await Load.ask(documents.verb("runAggregationQuery", query), of: host.ports.firestore)
        guard let sum = answer.text(of: "integerValue").flatMap({ Int($0) }) else {
            throw LoadError("the sum of the balances: \(answer.excerpt)")
        }
        return sum
    }
}

/// Moves 1 between two accounts that it draws.
private struct TransferCaller: Caller {
    private let requests: Requests
    private let table: ZipfTable?

    init(_ requests: Requests, _ table: ZipfTable?) {
        self.requests = requests
        self.table = table
    }

    private func draw() -> Int { table?.draw() ?? .random(in: 1...TransferBenchmark.accounts) }

    mutating func next() -> ByteBuffer? {
        let from = draw()
        let drawn = draw()
        let to = drawn == from ? 1 + from % TransferBenchmark.accounts : drawn
        return requests.post(
            "/\(HostProcess.project)/us-central1/transfer",
            #"{"data":{"from":"\#(from)","to":"\#(to)","amount":1}}"#)
    }

    mutating func received(_ answer: LoadResponse) -> Step { answer.status == 200 ? .done : .failed(answer.excerpt) }
}

/// Draws from 1 to a number, each with a probability of a power of its rank.
private struct ZipfTable: Sendable {
    /// The sums of the weights up to each rank.
    private let sums: [Double]

    init(count: Int, exponent: Double) {
        var sum = 0.0
        sums = (1...count).map { rank in
            sum += pow(Double(rank), -exponent)
            return sum
        }
    }

    func draw() -> Int {
        let place = Double.random(in: 0..<(sums.last ?? 1))
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > place { high = middle } else { low = middle + 1 }
        }
        return low + 1
    }
}
