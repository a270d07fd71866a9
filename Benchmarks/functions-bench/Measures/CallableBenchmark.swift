import Foundation
import NIOCore

/// Measures a warm callable that echoes its data, beside a bare server that does the same.
struct CallableBenchmark: Benchmark {
    static let name = "callable"
    private static let clients = 16
    private static let body = """
        {"data":{"id":"p-18273","name":"Espresso cup","quantity":2,"price":1280,"tags":["new","sale"],"gift":false}}
        """

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        let reference = try await ReferenceProcess.start(in: directory)
        do {
            let section = try await HostProcess.with(["FixtureFunctions"], in: directory) { host in
                try await measure(host, reference)
            }
            await reference.child.stop()
            return section
        } catch {
            await reference.child.stop()
            throw error
        }
    }

    private func measure(_ host: HostProcess, _ reference: ReferenceProcess) async throws -> Section {
        let port = host.ports.functions
        guard let user = try await host.signUp(1).first else { throw LoadError("the sign-up returned no user") }
        let bare = Requests(port: reference.port).post("/echo", Self.body)
        let open = Requests(port: port).post(HostProcess.path("echo"), Self.body)
        let signedIn = Requests(port: port, token: user.idToken).post(HostProcess.path("echo"), Self.body)
        var (bareReport, openReport, signedInReport) = (LoadReport(), LoadReport(), LoadReport())
        for _ in 0..<pace.rounds {
            bareReport.add(try await load(bare, to: reference.port, of: reference.child.tree))
            openReport.add(try await load(open, to: port, of: host.child.tree))
            signedInReport.add(try await load(signedIn, to: port, of: host.child.tree))
        }
        var section = Section(
            "Callable, warm, \(Self.clients) clients, an object of \(Self.body.utf8.count) bytes",
            notes: [
                "reference: a bare Hummingbird server with Foundation's JSON, without isolation or tokens",
                "ours: host and worker together",
            ])
        section.add("with an ID token", signedInReport, beside: bareReport, cpu: .ratioAtMost(0.6))
        section.add("without a token", openReport, beside: bareReport, cpu: .ratioAtMost(0.6))
        return section
    }

    private func load(_ request: ByteBuffer, to port: Int, of server: ProcessTree) async throws -> LoadReport {
        let caller = RepeatingCaller([request]) { answer in
            answer.status == 200 && answer.body.readableBytesView.starts(with: #"{"result":{"#.utf8)
        }
        return try await Load.run(
            Array(repeating: caller, count: Self.clients), to: port, for: pace.length, of: server)
    }
}
