import DocumentModel
import DocumentStore
import FirestoreMessages
import NIOCore
import Sharing
import Synchronization
import SwiftProtobuf

/// A Listen stream as a call.
final class ListenCall: GRPCMethod, @unchecked Sendable {
    var isSingle: Bool { false }
    /// Bytes of messages that may wait until those before are handled, which begins once the client's token is verified:
    /// a client that connects again sends all of its targets at once.
    private static let maxWaitingBytes = 4 << 20
    private static let maxWaiting = 10_000
    /// What passes until a stream without a valid token is refused, so that clients which don't wait can't keep the host
    /// busy with refusals.
    private static let refusalPause = Duration.milliseconds(100)

    /// What the client has sent.
    private enum Input: Sendable {
        case message(ByteBuffer)
        /// A target that is refused before its message is decoded.
        case refused(ListenTargetRequest)

        /// An empty message takes memory, too.
        var size: Int { if case .message(let message) = self { 128 + message.readableBytes } else { 128 } }
    }

    private let call: GRPCCall
    private let calls: FirestoreCalls
    private let stream = Mutex<ListenStream?>(nil)
    private let pumping = Mutex((isRunning: false, again: false))
    /// What was taken from the stream and isn't sent yet, in reverse, and what it holds of the memory of all answers, and as
    /// whose. For the one that pumps.
    private let pending: Mutex<(messages: [ListenResponse], held: Int, holder: MemoryBudget.Holder)>
    private let loop: any EventLoop
    private let waiting: WaitingMessages
    private let messages: AsyncStream<Input>.Continuation
    private let isOver = OperationCancellation()
    // Used on the event loop only.
    private var isEnded = false
    private var expiry: Scheduled<Void>?

    init(_ call: GRPCCall, _ calls: FirestoreCalls) {
        self.call = call
        self.calls = calls
        loop = call.answer.eventLoop
        let address = call.call.address ?? 0
        pending = Mutex(([], 0, .stranger(address)))
        waiting = WaitingMessages(
            "messages of Listen", maxCount: Self.maxWaiting, maxBytes: Self.maxWaitingBytes, memory: calls.bodies,
            address: address
        ) { calls.principals.holder(call.authorization) }
        let (input, messages) = AsyncStream.makeStream(of: Input.self)
        self.messages = messages
        let (waiting, isOver) = (waiting, isOver)
        Task { [weak self] in
            do throws(DocumentError) {
                let requester = try await calls.requester(call)
                guard let stream = self?.begin(as: requester) else { return }
                // Not on the loop: a message may have very many documents, and the stream may be in use.
                for await next in input {
                    waiting.remove(next.size)
                    guard !isOver.isCancelled else { return }
                    switch next {
                    case .message(let message):
                        let request = try await LargeRequests.decode(message.readableBytes, of: call.call.address) {
                            () throws(DocumentError) in
                            try calls.reader.listenRequest(message)
                        }
                        try stream.receive(request)
                    case .refused(let target): try stream.receive(.add(target))
                    }
                }
            } catch {
                // google-cloud-firestore listens again at once, for ever.
                if error.code == .unauthenticated { try? await Task.sleep(for: Self.refusalPause) }
                self?.fail(error)
            }
        }
    }

    private func begin(as requester: Requester) -> ListenStream {
        if let holder = requester.principal.holder { pending.withLock { $0.holder = holder } }
        let stream = calls.makeListenStream(as: requester.principal, call) { [weak self] in
            // The store's threads must not encode messages.
            Task { self?.pump() }
        }
        self.stream.withLock { $0 = stream }
        loop.execute { [self] in
            guard !isEnded else { return closeStream() }
            calls.revocable.add(self, of: requester) { [weak self] in self?.check(requester) }
            guard let expires = requester.expires else { return }
            let left = max(expires.seconds - Timestamp.wallClock().seconds, 0)
            expiry = loop.assumeIsolated().scheduleTask(in: .seconds(left)) { [weak self] in
                self?.fail(Requester.expired)
            }
        }
        return stream
    }

    private func check(_ requester: Requester) {
        do throws(DocumentError) { try requester.check() } catch { fail(error) }
    }

    func receive(_ message: ByteBuffer) {
        guard !isEnded else { return }
        let most = calls.limits.clients.listen.message
        guard message.readableBytes <= most else {
            let error = ListenTargetRequest.tooLarge(most)
            guard let id = ListenTargetID.find(in: message) else { return fail(error) }
            return receive(.refused(ListenTargetRequest(id: id, target: .failure(error))))
        }
        receive(.message(message))
    }

    private func receive(_ input: Input) {
        do throws(DocumentError) { try waiting.add(input.size) } catch { return fail(error) }
        messages.yield(input)
    }

    func finish() {
        close()
        call.answer.end()
    }

    func cancel() { close() }

    func isWritable() {
        Task { [weak self] in self?.pump() }
    }

    private func fail(_ error: DocumentError) {
        loop.execute { [self] in close() }
        call.answer.end(error, closes: true)
    }

    /// Sends the next messages, which leave together.
    ///
    /// - Returns: whether more may follow.
    private func sendPart() -> Bool {
        var part = ByteBuffer()
        let result = Result { () throws(DocumentError) in
            while part.readableBytes < GRPCResults.partBytes, let next = try nextMessage() {
                calls.writer.write(next, calls.encoded, to: &part)
            }
        }
        let isEmpty = part.readableBytes == 0
        if !isEmpty { call.answer.send(part) }
        guard case .failure(let error) = result else { return !isEmpty }
        fail(error)
        return false
    }

    /// The next message; nil if there is none.
    ///
    /// - Throws: `resourceExhausted` if there is too much, or what ends the stream.
    private func nextMessage() throws(DocumentError) -> ListenResponse? {
        if let next = pending.withLock({ $0.messages.popLast() }) { return next }
        let (known, holder) = pending.withLock { pending in
            defer { pending.held = 0 }
            return (pending.held, pending.holder)
        }
        calls.answers?.release(known, of: holder)
        guard let messages = try stream.withLock({ $0 })?.take(), !messages.isEmpty else { return nil }
        let bytes = messages.reduce(0) { $0 + $1.weight }
        let held = bytes > ClientAnswer.leastBytes ? bytes : 0
        guard calls.answers?.take(held, for: holder) ?? true else {
            throw DocumentError(.resourceExhausted, "too much waits for this client, or for all; listen again later")
        }
        return pending.withLock { pending in
            pending = (messages.reversed(), held, holder)
            return pending.messages.popLast()
        }
    }

    deinit {
        let (held, holder) = pending.withLock { ($0.held, $0.holder) }
        calls.answers?.release(held, of: holder)
        messages.finish()
    }

    private func close() {
        isEnded = true
        isOver.cancel()
        messages.finish()
        expiry?.cancel()
        calls.revocable.remove(self)
        closeStream()
    }

    private func closeStream() {
        let stream = stream.withLock { stream in
            defer { stream = nil }
            return stream
        }
        if let stream { calls.close(stream) }
    }

    /// Sends what there is, as long as the client takes it.
    private func pump() {
        let isMine = pumping.withLock { pumping in
            pumping.again = pumping.isRunning
            defer { pumping.isRunning = true }
            return !pumping.isRunning
        }
        guard isMine else { return }
        while true {
            while call.answer.isWritable, sendPart() {}
            let isDone = pumping.withLock { pumping in
                defer { pumping.again = false }
                if !pumping.again { pumping.isRunning = false }
                return !pumping.again
            }
            if isDone { return }
        }
    }
}

extension MessageReader {
    /// A target that can't be decoded is refused by itself, as one that is too large.
    fileprivate func listenRequest(_ bytes: ByteBuffer) throws(DocumentError) -> ListenRequest {
        let message: FSListenRequest
        do throws(DocumentError) { message = try GRPCCall.decode(bytes) } catch {
            guard let id = ListenTargetID.find(in: bytes) else { throw error }
            return .add(ListenTargetRequest(id: id, target: .failure(error)))
        }
        return try listenRequest(message)
    }

    func listenRequest(_ message: FSListenRequest) throws(DocumentError) -> ListenRequest {
        try check(database: message.database, isOptional: true)
        switch message.targetChange {
        case .removeTarget(let id)?: return .remove(id)
        case .addTarget(let target)?:
            var request = ListenTargetRequest(id: target.targetID, target: self.target(target))
            switch target.resumeType {
            case .resumeToken(let token)?: request.resume(from: Array(token))
            case .readTime(let time)?:
                do throws(DocumentError) {
                    request.position = try Self.timestamp(time).truncatedToMicroseconds
                } catch {
                    request.target = .failure(error)
                }
            default: break
            }
            request.isOnce = target.once
            request.isCounted = target.hasExpectedCount
            return .add(request)
        case nil: throw .invalidArgument("a message of Listen needs add_target or remove_target")
        }
    }

    private func target(_ message: FSTarget) -> Result<ListenTarget, DocumentError> {
        do throws(DocumentError) {
            switch message.targetType {
            case .query(let query)?:
                guard case .structuredQuery(let structured)? = query.queryType else {
                    throw .invalidArgument("a query target needs its structured_query")
                }
                let wanted = try self.query(structured, parent: try parent(query.parent))
                try database.check(wanted)
                return .success(.query(wanted))
            case .documents(let documents)?:
                var paths: Set<DocumentPath> = []
                for name in documents.documents { paths.insert(try path(name)) }
                guard (1...ListenTargetRequest.maxDocuments).contains(paths.count) else {
                    throw .invalidArgument("a target has 1 to \(ListenTargetRequest.maxDocuments) documents")
                }
                return .success(.documents(paths))
            case nil: throw .invalidArgument("a target needs a query or documents")
            }
        } catch {
            return .failure(error)
        }
    }
}

extension MessageWriter {
    /// Appends a framed message.
    fileprivate func write(_ response: ListenResponse, _ encoded: EncodedDocuments, to bytes: inout ByteBuffer) {
        var message = FSListenResponse()
        switch response {
        case .targets(let change, let targets, let cause, let position):
            var targetChange = FSTargetChange()
            targetChange.targetChangeType =
                switch change {
                case .noChange: .noChange
                case .add: .add
                case .remove: .remove
                case .current: .current
                case .reset: .reset
                }
            targetChange.targetIds = targets
            if let cause { targetChange.cause = Self.status(cause) }
            if let position {
                targetChange.resumeToken = .init(ResumeToken.bytes(of: position))
                targetChange.readTime = Self.timestamp(position)
            }
            message.responseType = .targetChange(targetChange)
        case .snapshot(let time):
            var targetChange = FSTargetChange()
            targetChange.readTime = Self.timestamp(time)
            message.responseType = .targetChange(targetChange)
        case .change(let document, let targets, let removed):
            var change = FSDocumentChange()
            change.targetIds = targets
            change.removedTargetIds = removed
            // The fields `document` of a DocumentChange, and `document_change` of a ListenResponse.
            return bytes.writeFramed(
                encoded.message(of: document, encode: self.document), as: 1, beside: change, in: 3)
        case .delete(let path, let removed, let time):
            var delete = FSDocumentDelete()
            delete.document = name(path)
            delete.removedTargetIds = removed
            delete.readTime = Self.timestamp(time)
            message.responseType = .documentDelete(delete)
        case .remove(let path, let removed, let time):
            var remove = FSDocumentRemove()
            remove.document = name(path)
            remove.removedTargetIds = removed
            remove.readTime = Self.timestamp(time)
            message.responseType = .documentRemove(remove)
        case .filter(let target, let count):
            var filter = FSExistenceFilter()
            filter.targetID = target
            filter.count = Int32(clamping: count)
            message.responseType = .filter(filter)
        }
        bytes.writeFramed(message)
    }
}
