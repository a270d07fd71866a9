import FirestoreMessages
import NIOCore
import NIOPosix
import SwiftProtobuf

/// A call that a client of a load makes.
struct GRPCRequest: Sendable {
    var method: String
    var message: ByteBuffer

    init(_ method: String, _ message: some Message) throws {
        self.method = method
        self.message = try .framed(message)
    }
}

extension ByteBuffer {
    /// A message with gRPC's prefix.
    static func framed(_ message: some Message) throws -> ByteBuffer {
        let bytes: [UInt8] = try message.serializedBytes()
        var buffer = ByteBuffer()
        buffer.reserveCapacity(bytes.count + 5)
        buffer.writeInteger(UInt8(0))
        buffer.writeInteger(UInt32(bytes.count))
        buffer.writeBytes(bytes)
        return buffer
    }
}

/// One client of a load over gRPC: as ``Caller``.
protocol GRPCCaller: Sendable {
    mutating func next() throws -> GRPCRequest
    /// - Returns: the operation's next call; nil at its end.
    mutating func received(_ messages: [ByteBuffer]) throws -> GRPCRequest?
}

/// Makes the same calls over and over, one after the other.
struct RepeatingGRPCCaller: GRPCCaller {
    let requests: [GRPCRequest]
    var index: Int
    /// The number of messages in an answer.
    var messages = 1

    mutating func next() -> GRPCRequest {
        index += 1
        return requests[index % requests.count]
    }

    func received(_ messages: [ByteBuffer]) throws -> GRPCRequest? {
        guard messages.count == self.messages else { throw LoadError("\(messages.count) messages came") }
        return nil
    }
}

/// Callers with one connection each, all on one event loop.
enum GRPCLoad {
    /// As `Load.run(_:to:for:of:)`.
    static func run(
        _ callers: [any GRPCCaller], to port: Int, for length: Load.Length, of server: ProcessTree
    ) async throws -> LoadReport {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var running: [NIOLoopBound<RunningGRPCCaller>] = []
        for caller in callers {
            let client = try await GRPCClient.connect(to: port, on: loop)
            running.append(
                try await loop.submit { NIOLoopBound(RunningGRPCCaller(caller, client.value), eventLoop: loop) }.get())
        }
        let all = running
        try await loop.submit { for caller in all { caller.value.ask() } }.get()
        try await Task.sleep(for: length.warmUp)
        let cpu = try server.cpuSeconds()
        let start = ContinuousClock.now
        try await loop.submit { for caller in all { caller.value.record.latencies.removeAll() } }.get()
        try await Task.sleep(for: length.measured)
        var report = try await loop.submit {
            var report = LoadReport()
            for caller in all { report.add(caller.value.record) }
            return report
        }.get()
        report.elapsed = (ContinuousClock.now - start).seconds
        report.cpu = try server.cpuSeconds() - cpu
        try await loop.submit { for caller in all { caller.value.stop() } }.get()
        return report
    }
}

/// A caller, its connection and what is measured. Must be used on its event loop.
private final class RunningGRPCCaller {
    var record = LoadConnection.Record()
    private var caller: any GRPCCaller
    private let client: GRPCClient
    private var isStopping = false

    init(_ caller: any GRPCCaller, _ client: GRPCClient) {
        self.caller = caller
        self.client = client
    }

    func ask() {
        do { send(try caller.next(), since: .now()) } catch { note("\(error)") }
    }

    func stop() {
        isStopping = true
        client.channel.close(promise: nil)
    }

    private func send(_ request: GRPCRequest, since start: NIODeadline) {
        var messages: [ByteBuffer] = []
        let stream = GRPCClientStream {
            messages.append($0)
        } onEnd: { [self] failure in
            guard !isStopping else { return }
            do {
                if let failure { throw LoadError(failure) }
                if let next = try caller.received(messages) { return send(next, since: start) }
                record.latencies.append((NIODeadline.now() - start).nanoseconds)
            } catch {
                note("\(error)")
            }
            // Not within the end of the call before.
            client.channel.eventLoop.assumeIsolated().execute { self.ask() }
        }
        client.call(request.method, request.message, stream)
    }

    private func note(_ reason: String) {
        record.errors += 1
        record.firstError = record.firstError ?? reason
    }
}
