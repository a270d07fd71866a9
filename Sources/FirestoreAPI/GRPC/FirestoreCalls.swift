package import DocumentModel
package import DocumentStore
package import SecurityRules
package import Sharing
import FirestoreMessages
import NIOCore
import SwiftProtobuf

/// The methods of `google.firestore.v1.Firestore` as gRPC calls.
package final class FirestoreCalls: Sendable {
    let database: DatabaseID
    let service: StoreDocumentService
    private let store: DocumentStore
    private let streams: ListenStreams
    let figures: ClientFigures
    let revocable = RevocableStreams()
    let open: OpenCalls
    let encoded = EncodedDocuments()
    let principals: PrincipalReader
    private let address: DocumentREST.AddressReader
    let answers: MemoryBudget?
    /// The memory of the messages that are being received.
    let bodies: MemoryBudget?
    let limits: GRPCLimits
    private let isForeign: @Sendable (_ origin: String) -> Bool

    /// - Parameters:
    ///   - answers: the memory of all answers, and of all messages that are being received; nil for no bound.
    ///   - isForeign: whether the pages of an origin can't act as the owner.
    package init(
        _ store: DocumentStore, database: DatabaseID, service: StoreDocumentService, rules: ClientRules,
        principals: PrincipalReader, address: @escaping DocumentREST.AddressReader = { _, _ in nil },
        answers: MemoryBudget? = nil, bodies: MemoryBudget? = nil, limits: GRPCLimits = GRPCLimits(),
        figures: ClientFigures = ClientFigures(),
        isForeign: @escaping @Sendable (_ origin: String) -> Bool = { _ in false }
    ) {
        let streams = ListenStreams(figures)
        self.streams = streams
        self.figures = figures
        self.limits = limits
        open = OpenCalls(limits.clients.grpc)
        self.answers = answers
        self.bodies = bodies
        self.store = store
        self.database = database
        self.service = service
        rules.onReplacement { streams.decideAgain() }
        self.principals = principals
        self.address = address
        self.isForeign = isForeign
    }

    /// A number that stands for the address of a call's client.
    func address(of peer: SocketAddress?, _ headers: CallHeaders) -> UInt64? { address(peer, headers.forwardedFor) }

    /// Whether a page of another site acts as the owner.
    func isForeign(_ headers: CallHeaders) -> Bool {
        guard let origin = headers.origin, let authorization = headers.authorization else { return false }
        return principals.isOwner(authorization) && isForeign(origin)
    }

    var reader: MessageReader { MessageReader(database: database) }
    var writer: MessageWriter { MessageWriter(database: database) }

    private static let prefix = "/google.firestore.v1.Firestore/"

    /// The method that a path names; nil if there is none.
    ///
    /// - Parameter address: a number that stands for the client's address.
    func method(_ headers: CallHeaders, from address: UInt64?, _ answer: GRPCAnswer) -> (any GRPCMethod)? {
        guard headers.path.hasPrefix(Self.prefix) else { return nil }
        let name = headers.path.dropFirst(Self.prefix.count)
        // What a stream sends is bounded by its listeners.
        let held = name == "Listen" || name == "Write" ? nil : ClientAnswer(answers, for: .stranger(address ?? 0))
        let call = GRPCCall(
            authorization: headers.authorization, appCheck: headers.appCheck, resource: headers.resource,
            call: ClientCall(address: address, answer: held), answer: answer)
        switch name {
        case "GetDocument": return unary(call, get)
        case "ListDocuments": return unary(call, list)
        case "CreateDocument": return unary(call, create)
        case "UpdateDocument": return unary(call, update)
        case "DeleteDocument": return unary(call, delete)
        case "BeginTransaction": return unary(call, begin)
        case "Commit": return unary(call, atOnce: { self.commitAtOnce($0, call) }, commit)
        case "Rollback": return unary(call, rollback)
        case "BatchWrite": return unary(call, batchWrite)
        case "PartitionQuery": return unary(call, partition)
        case "ListCollectionIds": return unary(call, collectionIDs)
        case "BatchGetDocuments": return streaming(call, atOnce: { self.getAtOnce($0, call) }, batchGet)
        case "RunQuery": return streaming(call, runQuery)
        case "RunAggregationQuery": return streaming(call, runAggregation)
        case "Listen": return ListenCall(call, self)
        case "Write": return WriteCall(call, self)
        default: return nil
        }
    }

    /// - Throws: `unauthenticated` for anything but a valid token, `notFound` for another database.
    func requester(_ call: GRPCCall) async throws(DocumentError) -> Requester {
        if let resource = call.resource { try reader.check(database: resource) }
        let requester = try await principals.requester(call.authorization, appCheck: call.appCheck)
        if let holder = requester.principal.holder { call.call.answer?.identify(holder) }
        return requester
    }

    /// Tells clients of quiet Listen streams that nothing has changed.
    package func refresh() { streams.refresh() }

    /// Ends the streams whose tokens' keys have been revoked.
    package func checkTokens() { revocable.checkAll() }

    func makeListenStream(
        as principal: Principal, _ call: GRPCCall, onNews: @escaping @Sendable () -> Void
    ) -> ListenStream {
        let (service, address) = (service, call.call.address)
        let stream = ListenStream(
            store, limits: limits.clients.listen, context: { service.context(principal, at: address) }, onNews: onNews)
        streams.add(stream)
        return stream
    }

    func close(_ stream: ListenStream) {
        streams.remove(stream)
        stream.close()
    }

    /// - Parameter atOnce: answers the call without a task, or returns false.
    private func unary<Request: Message, Answer: Message>(
        _ call: GRPCCall, atOnce: (@Sendable (ByteBuffer) -> Bool)? = nil,
        _ body: @escaping @Sendable (Request, Principal) async throws(DocumentError) -> Answer
    ) -> any GRPCMethod {
        SingleCall(call, atOnce: atOnce) { [self] message, answer throws(DocumentError) in
            let principal = try await requester(call).principal
            let result = try await body(try GRPCCall.decode(message), principal)
            answer.end(with: .framed(result))
        }
    }

    /// - Parameter atOnce: answers the call without a task, or returns false.
    private func streaming<Request: Message>(
        _ call: GRPCCall, atOnce: (@Sendable (ByteBuffer) -> Bool)? = nil,
        _ body: @escaping @Sendable (Request, Principal, GRPCResults) async throws(DocumentError) -> Void
    ) -> any GRPCMethod {
        SingleCall(call, atOnce: atOnce) { [self] message, answer throws(DocumentError) in
            let principal = try await requester(call).principal
            let results = GRPCResults(answer)
            do throws(DocumentError) {
                try await body(try GRPCCall.decode(message), principal, results)
                results.end()
            } catch {
                results.end(error)
            }
        }
    }
}

/// What is known of a call besides its messages.
struct GRPCCall: Sendable {
    let authorization: String?
    let appCheck: String?
    /// The database, from `google-cloud-resource-prefix`.
    let resource: String?
    let call: ClientCall
    let answer: GRPCAnswer

    static func decode<Request: Message>(_ bytes: ByteBuffer) throws(DocumentError) -> Request {
        let bytes = Array(bytes.readableBytesView)
        try DecodedSize.check(bytes, as: Request.self)
        do {
            // Groups and messages nest up to 100 deep, which is protobuf's own limit.
            return try Request(serializedBytes: bytes)
        } catch {
            throw .invalidArgument("the message can't be decoded: \(error)")
        }
    }
}

/// A call with one request.
private final class SingleCall: GRPCMethod, @unchecked Sendable {
    var isSingle: Bool { true }
    typealias Body = @Sendable (ByteBuffer, GRPCAnswer) async throws(DocumentError) -> Void

    private let call: GRPCCall
    private let atOnce: (@Sendable (ByteBuffer) -> Bool)?
    private let body: Body
    // Used on the event loop only.
    private var message: ByteBuffer?
    private var hasFailed = false
    private var task: Task<Void, Never>?

    /// - Parameter atOnce: answers the call, or returns false.
    init(_ call: GRPCCall, atOnce: (@Sendable (ByteBuffer) -> Bool)? = nil, _ body: @escaping Body) {
        self.call = call
        self.atOnce = atOnce
        self.body = body
    }

    func receive(_ message: ByteBuffer) {
        guard self.message == nil, task == nil else {
            hasFailed = true
            return call.answer.end(DocumentError(.unimplemented, "the method takes one message"), closes: true)
        }
        self.message = message
    }

    func finish() {
        guard !hasFailed else { return }
        guard let message else {
            return call.answer.end(DocumentError(.internal, "the call ended without a message"))
        }
        self.message = nil
        if let atOnce, atOnce(message) { return }
        task = Task { [call, body] in
            await ClientCall.$current.withValue(call.call) {
                // What is sent counts by itself.
                defer { call.call.answer?.release() }
                do throws(DocumentError) {
                    guard message.readableBytes >= LargeRequests.leastBytes else {
                        return try await body(message, call.answer)
                    }
                    try await LargeRequests(.decoding, of: call.call.address).run { () async throws(DocumentError) in
                        try await body(message, call.answer)
                    }
                } catch {
                    call.answer.end(error)
                }
            }
        }
    }

    func cancel() {
        call.call.cancellation.cancel()
        task?.cancel()
    }

    func isWritable() {}
}
