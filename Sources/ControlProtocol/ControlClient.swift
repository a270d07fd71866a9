import DataDirectory
package import DocumentModel
import NIOCore
import NIOHTTP1
import NIOPosix
import StrictJSON
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A command's connection to the host that runs on a data directory, for one request.
package struct ControlClient: Sendable {
    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    private let connection: Connection

    /// Connects to the host; nil if no host runs on the directory.
    /// - Throws: if it is unknown whether a host runs.
    package init?(directory: String) async throws {
        let connection = try await Self.connect(directory) { channel in
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            return try Connection(wrappingChannelSynchronously: channel)
        }
        guard let connection else { return nil }
        self.connection = connection
    }

    /// Whether a host runs on the directory.
    package static func isListening(_ directory: String) async throws -> Bool {
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
        } catch let error as IOError where error.errnoCode == EACCES {
            throw DataDirectory.refusal(of: directory, to: geteuid())
        } catch let error as IOError where error.errnoCode == ENOTDIR {
            throw DataDirectoryError(
                "the data directory \(directory) is not a directory; name another one with --data or --config")
        } catch let error as DataDirectoryError {
            // Without a directory there is no host.
            guard FileStatus(directory) != nil else { return nil }
            throw error
        }
    }

    /// Sends a request and passes each line of the response to `onLine`.
    ///
    /// - Parameters:
    ///   - path: the path below the version, with its query.
    ///   - input: the request's body; nil if it has none.
    ///   - hasPieces: whether lines of the response may announce pieces, which `onPiece` receives.
    /// - Throws: any error of `onLine`, `unavailable` if the connection is lost, or `unimplemented` if the host doesn't
    ///   know the path.
    func exchange(
        _ path: String, input: (some AsyncSequence<[UInt8], any Error> & Sendable)?,
        hasPieces: Bool = false, onPiece: (ArraySlice<UInt8>) async throws -> Void = { _ in },
        onLine: ([UInt8]) async throws -> Void
    ) async throws {
        let head = HTTPRequestHead(
            version: .http1_1, method: .POST, uri: "/\(ControlRequest.version)/\(path)",
            headers: [
                "Host": "control", "Connection": "close",
                input == nil ? "Content-Length" : "Transfer-Encoding": input == nil ? "0" : "chunked",
            ])
        let failure = InputFailure()
        do {
            try await connection.executeThenClose { inbound, outbound in
                // Sending is cancelled once the response is complete.
                async let _ = Self.send(head, input, over: outbound) { error in
                    failure.error.withLock { $0 = error }
                    connection.channel.close(promise: nil)
                }
                try await Self.lines(of: inbound, hasPieces: hasPieces, onPiece, onLine)
            }
        } catch {
            if let cause = failure.error.withLock({ $0 }) { throw cause }
            guard let error = error as? IOError else { throw error }
            throw DocumentError(.unavailable, "the connection to the running host was lost: \(error)")
        }
    }

    /// Sends a data command to the host.
    ///
    /// - Throws: the host's `DocumentError`, or `unavailable` if the connection is lost.
    package func perform(
        _ request: DataRequest, input: some AsyncSequence<[UInt8], any Error> & Sendable,
        onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        let isExport = if case .export = request { true } else { false }
        let hasPieces = if case .exportDatabase = request { true } else { false }
        var outcome: DataOutcome?
        var exported = ExportTail()
        var unreadable = 0
        try await exchange(
            DataWire.path(request), input: request.hasInput ? input : nil, hasPieces: hasPieces,
            onPiece: { try await onEvent(.bytes(Array($0))) }
        ) { line in
            switch try DataWire.read(line, isExport: isExport) {
            case .error(let error): throw error
            case .outcome(let found): outcome = found
            case .event(let event):
                if case .problem = event { unreadable += 1 } else if isExport { exported.note(line) }
                try await onEvent(event)
            }
        }
        if isExport {
            outcome = exported.outcome
            if unreadable > 0 { outcome?.numbers["unreadable"] = unreadable }
        }
        guard let outcome else { throw Self.connectionLost }
        return outcome
    }

    package static let connectionLost = DocumentError(
        .unavailable, "the connection to the running host was lost before the command was done; see its log")

    /// - Parameter failed: called if the input can't be read.
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
                    // Once the response is complete, sending is cancelled, and reading fails for that.
                    guard !Task.isCancelled else { return }
                    return failed(error)
                }
                guard let piece else { break }
                try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: piece))))
            }
        }
        try await outbound.write(.end(nil))
    }

    private static func lines(
        of inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>, hasPieces: Bool,
        _ onPiece: (ArraySlice<UInt8>) async throws -> Void, _ onLine: ([UInt8]) async throws -> Void
    ) async throws {
        var lines = LineBuffer()
        /// The bytes of a piece that are still to come.
        var left = 0
        for try await part in inbound {
            switch part {
            case .head(let head):
                guard head.status != .notFound else {
                    throw DocumentError(
                        .unimplemented, "the running host has another version, which doesn't know this command")
                }
            case .body(let piece):
                lines.append(piece.readableBytesView)
                while true {
                    if left > 0 {
                        let piece = lines.take(atMost: left)
                        guard !piece.isEmpty else { break }
                        left -= piece.count
                        try await onPiece(piece)
                    } else {
                        guard let line = try lines.next() else { break }
                        if hasPieces, let length = DataWire.pieceLength(line) {
                            left = length
                        } else {
                            try await onLine(line)
                        }
                    }
                }
            case .end: return
            }
        }
        throw connectionLost
    }
}

/// The error that reading the request's input failed with.
private final class InputFailure: Sendable {
    let error = Mutex<(any Error)?>(nil)
}

/// Detects the last line of an export.
private struct ExportTail {
    private(set) var outcome: DataOutcome?

    mutating func note(_ line: [UInt8]) {
        guard line.starts(with: "{\"count\":".utf8), let root = try? JSONNode(parsing: line),
            let count = try? root["count"]?.integer()
        else { return outcome = nil }
        let users = try? root["users"]?.integer()
        outcome = DataOutcome(["documents": Int(count), "users": Int(users ?? 0)])
    }
}
