import DocumentModel
import Sharing

/// A message of a Write client, whatever the wire.
struct WriteStreamRequest: Sendable {
    /// Whether it names the database, as the first message must.
    var hasDatabase: Bool
    /// Nil if the message has none, which the first one must not.
    var writes: [Write]?
}

/// What a Write client receives, in the terms of Firestore's `WriteResponse`.
struct WriteStreamResponse: Sendable {
    /// In the first answer.
    var streamID: String?
    var token: [UInt8]
    /// Nil in the first answer and the last.
    var result: CommitResult?
}

/// What a Write client has sent and is not yet handled: it may send some writes without waiting.
struct WaitingWrites {
    private let limits: ClientLimits.Write
    private var count = 0
    private var bytes = 0

    init(_ limits: ClientLimits.Write) { self.limits = limits }

    /// - Throws: `resourceExhausted` if too much waits.
    mutating func add(_ size: Int) throws(DocumentError) {
        guard count < limits.waiting, count == 0 || bytes + size <= limits.waitingBytes else {
            throw DocumentError(
                .resourceExhausted,
                "more than \(limits.waiting) writes or \(limits.waitingBytes >> 10) KiB wait for their answers")
        }
        count += 1
        bytes += size
    }

    mutating func remove(_ size: Int) {
        count -= 1
        bytes -= size
    }
}

/// The server's side of a Write stream: a handshake, and then one commit after the other, each answered before the next
/// begins. The first error ends the stream.
struct WriteStream: Sendable {
    enum Answer: Sendable {
        case response(WriteStreamResponse)
        /// The last one: the client has closed the stream.
        case last(WriteStreamResponse)
    }

    private let service: any DocumentService
    private let requester: Requester
    private var isOpen = false
    private var answers: UInt64 = 0

    init(_ service: any DocumentService, as requester: Requester) {
        self.service = service
        self.requester = requester
    }

    /// Handles the next message.
    ///
    /// - Throws: what ends the stream; no later message may be handled.
    mutating func handle(_ request: WriteStreamRequest) async throws(DocumentError) -> Answer {
        guard isOpen else {
            guard request.hasDatabase else {
                throw .invalidArgument("the first message of a Write stream must name the database")
            }
            guard request.writes?.isEmpty ?? true else {
                throw .invalidArgument("the first message of a Write stream must have no writes")
            }
            isOpen = true
            return .response(
                WriteStreamResponse(streamID: String(UInt64.random(in: 1 ... .max), radix: 36), token: nextToken()))
        }
        try requester.check()
        guard let writes = request.writes, !writes.isEmpty else {
            return .last(WriteStreamResponse(token: nextToken()))
        }
        let result = try await service.commit(writes, transaction: nil, as: requester.principal)
        return .response(WriteStreamResponse(token: nextToken(), result: result))
    }

    /// A client sends several writes without waiting, all with the last token that it knows, so tokens are only told apart.
    private mutating func nextToken() -> [UInt8] {
        answers += 1
        return Array(String(answers).utf8)
    }
}
