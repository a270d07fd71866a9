import DocumentModel
import DocumentStore
import FirestoreMessages
import NIOCore
import Synchronization
import SwiftProtobuf

/// A Listen stream as a call.
final class ListenCall: GRPCMethod, @unchecked Sendable {
    /// Messages that may wait until the client's token is verified.
    private static let maxEarly = 1000

    private let call: GRPCCall
    private let calls: FirestoreCalls
    private let stream = Mutex<ListenStream?>(nil)
    private let pumping = Mutex((isRunning: false, again: false))
    private let loop: any EventLoop
    // Used on the event loop only.
    private var early: [ByteBuffer] = []
    private var hasBegun = false
    private var isEnded = false
    private var expiry: Scheduled<Void>?

    init(_ call: GRPCCall, _ calls: FirestoreCalls) {
        self.call = call
        self.calls = calls
        loop = call.answer.eventLoop
        Task { [weak self] in
            do throws(DocumentError) {
                let principal = try await calls.principal(call)
                self?.begin(as: principal)
            } catch {
                self?.fail(error)
            }
        }
    }

    private func begin(as principal: Principal) {
        let stream = calls.makeListenStream(as: principal, call) { [weak self] in
            // The store's threads must not encode messages.
            Task { self?.pump() }
        }
        loop.execute { [self] in
            guard !isEnded else { return calls.close(stream) }
            self.stream.withLock { $0 = stream }
            hasBegun = true
            for message in early { receive(message) }
            early = []
            guard case .client(let client?) = principal, let expires = client.expires else { return }
            let left = max(expires.seconds - Timestamp.wallClock().seconds, 0)
            expiry = loop.assumeIsolated().scheduleTask(in: .seconds(left)) { [weak self] in
                self?.fail(DocumentError(.unauthenticated, "the ID token has expired"))
            }
        }
    }

    func receive(_ message: ByteBuffer) {
        guard !isEnded else { return }
        guard hasBegun, let stream = stream.withLock({ $0 }) else {
            guard early.count < Self.maxEarly else {
                return fail(DocumentError(.resourceExhausted, "too many messages before the stream has begun"))
            }
            return early.append(message)
        }
        do throws(DocumentError) {
            stream.receive(try calls.reader.listenRequest(try GRPCCall.decode(message)))
        } catch {
            fail(error)
        }
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
        call.answer.end(error)
    }

    private func close() {
        isEnded = true
        expiry?.cancel()
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
            while call.answer.isWritable, let messages = stream.withLock({ $0 })?.take(), !messages.isEmpty {
                call.answer.send(messages.map { .framed(calls.writer.listenResponse($0)) })
            }
            let isDone = pumping.withLock { pumping in
                defer { pumping.again = false }
                if !pumping.again { pumping.isRunning = false }
                return !pumping.again
            }
            if isDone { return }
        }
    }
}

/// A Write stream as a call.
final class WriteCall: GRPCMethod, @unchecked Sendable {
    /// Messages that may wait for the ones before.
    private static let maxWaiting = 100

    private final class Waiting: Sendable {
        private let count = Atomic(0)

        func add() -> Int { count.add(1, ordering: .relaxed).newValue }
        func remove() { count.subtract(1, ordering: .relaxed) }
    }

    private let call: GRPCCall
    private let waiting = Waiting()
    private let messages: AsyncStream<ByteBuffer>.Continuation
    private let task: Task<Void, Never>

    init(_ call: GRPCCall, _ calls: FirestoreCalls) {
        self.call = call
        let (input, messages) = AsyncStream.makeStream(of: ByteBuffer.self)
        self.messages = messages
        let waiting = waiting
        task = Task {
            await ClientCall.$current.withValue(call.call) {
                do throws(DocumentError) {
                    var stream = WriteStream(calls.service, as: try await calls.principal(call))
                    for await message in input {
                        waiting.remove()
                        let request = try calls.reader.writeRequest(try GRPCCall.decode(message))
                        switch try await stream.handle(request) {
                        case .response(let response):
                            call.answer.send([.framed(calls.writer.writeResponse(response))])
                        case .last(let response):
                            call.answer.send([.framed(calls.writer.writeResponse(response))])
                            return call.answer.end()
                        }
                    }
                    call.answer.end()
                } catch {
                    call.answer.end(error)
                }
            }
        }
    }

    func receive(_ message: ByteBuffer) {
        guard waiting.add() <= Self.maxWaiting else {
            task.cancel()
            return call.answer.end(
                DocumentError(.resourceExhausted, "more than \(Self.maxWaiting) writes wait for their answers"))
        }
        messages.yield(message)
    }

    func finish() { messages.finish() }

    func cancel() {
        messages.finish()
        task.cancel()
    }

    func isWritable() {}
}

extension MessageReader {
    func listenRequest(_ message: FSListenRequest) throws(DocumentError) -> ListenRequest {
        try check(database: message.database)
        switch message.targetChange {
        case .removeTarget(let id)?: return .remove(id)
        case .addTarget(let target)?:
            var request = ListenTargetRequest(id: target.targetID, target: self.target(target))
            switch target.resumeType {
            case .resumeToken(let token)? where !token.isEmpty:
                request.position = ResumeToken.position(of: Array(token))
                if request.position == nil {
                    request.target = .failure(.invalidArgument("the resume token is none of this host's"))
                }
            case .readTime(let time)?: request.position = try Self.timestamp(time).truncatedToMicroseconds
            default: break
            }
            request.isOnce = target.once
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
                return .success(.query(try self.query(structured, parent: try parent(query.parent))))
            case .documents(let documents)?:
                var paths: Set<DocumentPath> = []
                for name in documents.documents { paths.insert(try path(name)) }
                guard !paths.isEmpty else { throw .invalidArgument("a target needs at least one document") }
                return .success(.documents(paths))
            case nil: throw .invalidArgument("a target needs a query or documents")
            }
        } catch {
            return .failure(error)
        }
    }

    func writeRequest(_ message: FSWriteRequest) throws(DocumentError) -> WriteStreamRequest {
        try check(database: message.database)
        return WriteStreamRequest(
            hasDatabase: !message.database.isEmpty, writes: message.writes.isEmpty ? nil : try writes(message.writes))
    }
}

extension MessageWriter {
    func listenResponse(_ response: ListenResponse) -> FSListenResponse {
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
        case .change(let document, let targets, let removed):
            var change = FSDocumentChange()
            change.document = self.document(document)
            change.targetIds = targets
            change.removedTargetIds = removed
            message.responseType = .documentChange(change)
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
        }
        return message
    }

    func writeResponse(_ response: WriteStreamResponse) -> FSWriteResponse {
        var message = FSWriteResponse()
        message.streamID = response.streamID ?? ""
        message.streamToken = .init(response.token)
        if let result = response.result {
            message.writeResults = result.writeResults.map(writeResult)
            message.commitTime = Self.timestamp(result.commitTime)
        }
        return message
    }
}
