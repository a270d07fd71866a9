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
    private let memory: MemoryBudget?
    private let holder: MemoryBudget.Holder
    private var isOpen = false
    private var answers: UInt64 = 0

    /// - Parameters:
    ///   - memory: what all clients' writes may take while they are under way; nil for no bound.
    ///   - holder: whose writes they are.
    init(
        _ service: any DocumentService, as requester: Requester, memory: MemoryBudget? = nil,
        holder: MemoryBudget.Holder = .host
    ) {
        self.service = service
        self.requester = requester
        self.memory = memory
        self.holder = holder
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
        let held = ClientAnswer(memory, for: holder)
        defer { withExtendedLifetime(held) {} }
        let weight = writes.reduce(0) { $0 + $1.weight }
        if let memory, weight > memory.most(for: holder) {
            // After RESOURCE_EXHAUSTED, SDKs would send it again and again, and no write behind it.
            throw .invalidArgument(
                "the writes take about \(weight >> 10) KiB in memory, more than one client may ever have; commit fewer "
                    + "at a time")
        }
        try held.take(weight)
        let result = try await service.commit(writes, transaction: nil, as: requester.principal)
        return .response(WriteStreamResponse(token: nextToken(), result: result))
    }

    /// A client sends several writes without waiting, all with the last token that it knows, so tokens are only told apart.
    private mutating func nextToken() -> [UInt8] {
        answers += 1
        return Array(String(answers).utf8)
    }
}
