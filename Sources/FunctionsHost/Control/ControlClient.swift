import DocumentModel
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A command's connection to the host that has a data directory. One request each.
struct ControlClient: Sendable {
    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    private let connection: Connection

    /// - Returns: nil where no host listens there.
    /// - Throws: where it can't be told.
    init?(directory: String) async throws {
        let connection = try await Self.connect(directory) { channel in
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            return try Connection(wrappingChannelSynchronously: channel)
        }
        guard let connection else { return nil }
        self.connection = connection
    }

    /// Whether a host listens there.
    static func isListening(_ directory: String) async throws -> Bool {
        guard let channel = try await connect(directory, { $0 }) else { return false }
        try? await channel.close()
        return true
    }

    private static func connect<Result: Sendable>(
        _ directory: String, _ wrap: @escaping @Sendable (any Channel) throws -> Result
    ) async throws -> Result? {
        do {
            return try await ControlSocket(directory: directory).withAddress { address in
                try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(unixDomainSocketPath: address) { channel in
                        channel.eventLoop.makeCompletedFuture { try wrap(channel) }
                    }
            }
        } catch let error as IOError where [ENOENT, ECONNREFUSED].contains(error.errnoCode) {
            return nil
        } catch let error as DataDirectoryError {
            // No directory, no host.
            guard FileStatus(directory) != nil else { return nil }
            throw error
        }
    }

    /// Has the host do something.
    ///
    /// - Throws: `DocumentError` as the host says it, or as `unavailable` where the host ends or isn't understood.
    func perform(
        _ request: DataRequest, input: some AsyncSequence<[UInt8], any Error> & Sendable,
        tell: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        let sendsInput = if case .importDocuments = request { true } else { false }
        let head = HTTPRequestHead(
            version: .http1_1, method: .POST, uri: "/\(ControlServer.version)/\(DataWire.path(request))",
            headers: [
                "Host": "control", "Connection": "close",
                sendsInput ? "Transfer-Encoding" : "Content-Length": sendsInput ? "chunked" : "0",
            ])
        let failure = InputFailure()
        do {
            return try await connection.executeThenClose { inbound, outbound in
                // What is still to be sent is of no use once the answer is there.
                async let _ = Self.send(head, sendsInput ? input : nil, over: outbound) { error in
                    failure.error.withLock { $0 = error }
                    connection.channel.close(promise: nil)
                }
                return try await Self.answer(to: request, from: inbound, tell)
            }
        } catch {
            if let cause = failure.error.withLock({ $0 }) { throw cause }
            guard let error = error as? IOError else { throw error }
            throw DocumentError(.unavailable, "the running host broke off: \(error)")
        }
    }

    /// - Parameter failed: told where the input can't be read.
    private static func send(
        _ head: HTTPRequestHead, _ input: (some AsyncSequence<[UInt8], any Error> & Sendable)?,
        over outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>, failed: (any Error) -> Void
    ) async throws {
        try await outbound.write(.head(head))
        if let input {
            var pieces = input.makeAsyncIterator()
            while true {
                let piece: [UInt8]?
                do {
                    piece = try await pieces.next()
                } catch {
                    return failed(error)
                }
                guard let piece else { break }
                try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: piece))))
            }
        }
        try await outbound.write(.end(nil))
    }

    private static func answer(
        to request: DataRequest, from inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>,
        _ tell: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        var isExport = false
        if case .export = request { isExport = true }
        var lines = LineBuffer()
        var outcome: DataOutcome?
        var exported = ExportTail()
        for try await part in inbound {
            switch part {
            case .head(let head):
                guard head.status != .notFound else {
                    throw DocumentError(
                        .unimplemented, "the running host is of another version, which doesn't know this command")
                }
            case .body(let piece):
                lines.append(piece.readableBytesView)
                while let line = try lines.next() {
                    switch try DataWire.read(line, isExport: isExport) {
                    case .error(let error): throw error
                    case .outcome(let found): outcome = found
                    case .event(let event):
                        if isExport { exported.note(line) }
                        try await tell(event)
                    }
                }
            case .end:
                if isExport { outcome = exported.outcome }
                if let outcome { return outcome }
            }
        }
        throw DocumentError(.unavailable, "the running host broke off before it was done; look at its log")
    }
}

/// Why what was to be sent could not be read.
private final class InputFailure: Sendable {
    let error = Mutex<(any Error)?>(nil)
}

/// Knows of an export's lines whether the last one has come.
private struct ExportTail {
    private(set) var outcome: DataOutcome?

    mutating func note(_ line: [UInt8]) {
        guard line.starts(with: "{\"count\":".utf8), let root = try? JSONParser.parse(line),
            let count = try? root["count"]?.integer()
        else { return outcome = nil }
        outcome = DataOutcome(["documents": Int(count)])
    }
}
