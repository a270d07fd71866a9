import DocumentModel
import GoogleREST
import NIOCore
import Sharing
import StrictJSON
import Synchronization

/// The messages that an endpoint has ready, and its end.
private struct Ready {
    var messages: [[UInt8]] = []
    var isEnded = false

    /// After an error, no message of the client is handled: the SDK sends those again in another stream.
    mutating func fail(_ error: DocumentError, _ json: StreamJSON) {
        guard !isEnded else { return }
        isEnded = true
        messages.append(StreamJSON.array(json.text(error)))
    }

    mutating func take() -> (messages: [[UInt8]], isLast: Bool) {
        defer { messages = [] }
        return (messages, false)
    }
}

extension StreamJSON {
    /// A message as an array of the protocol has it.
    fileprivate static func array(_ message: JSONWriter) -> [UInt8] {
        [UInt8(ascii: "[")] + message.bytes + [UInt8(ascii: "]")]
    }

    fileprivate func read<Message>(
        _ text: [UInt8], _ body: (JSONNode) throws(JSONProblem) -> Message
    ) throws(DocumentError) -> Message {
        let (message, other) = try RESTBody(ByteBuffer(bytes: text)).read { node throws(JSONProblem) in
            (try body(node), try refusal(of: node))
        }
        if let other { throw other }
        return message
    }
}

/// A Listen stream in JSON.
final class ListenEndpoint: StreamEndpoint {
    private let stream: ListenStream
    private let json: StreamJSON
    private let maxBytes: Int
    private let ready = Mutex(Ready())
    private let onNews: @Sendable () -> Void

    /// - Parameter maxBytes: the size of one message of the client.
    init(_ stream: ListenStream, _ json: StreamJSON, maxBytes: Int, onNews: @escaping @Sendable () -> Void) {
        self.stream = stream
        self.json = json
        self.maxBytes = maxBytes
        self.onNews = onNews
    }

    func receive(_ text: [UInt8]) {
        guard !ready.withLock({ $0.isEnded }) else { return }
        do throws(DocumentError) { try stream.receive(try request(text)) } catch { fail(error) }
    }

    /// A target whose message is too large, or isn't taken for JSON, is refused by itself: see
    /// ``ListenTargetRequest/tooLarge(_:)``.
    private func request(_ text: [UInt8]) throws(DocumentError) -> ListenRequest {
        var isJSON = false
        do throws(DocumentError) {
            guard text.count <= maxBytes else { throw ListenTargetRequest.tooLarge(maxBytes) }
            return try json.read(text) { node throws(JSONProblem) in
                isJSON = true
                return try json.listenRequest(node)
            }
        } catch {
            guard !isJSON, let id = ListenTargetID.find(inJSON: text) else { throw error }
            return .add(ListenTargetRequest(id: id, target: .failure(error)))
        }
    }

    func take() -> (messages: [[UInt8]], isLast: Bool) {
        let (known, isEnded) = ready.withLock { ($0.take(), $0.isEnded) }
        guard known.messages.isEmpty, !isEnded else { return known }
        do throws(DocumentError) {
            return (try stream.take().map { StreamJSON.array(json.text($0)) }, false)
        } catch {
            fail(error)
            return ready.withLock { $0.take() }
        }
    }

    func fail(_ error: DocumentError) {
        ready.withLock { $0.fail(error, json) }
        stream.close()
        onNews()
    }

    func close() { stream.close() }

    func decideAgain() { stream.decideAgain() }

    func refresh() { stream.refresh() }
}

/// A Write stream in JSON: a task handles one message after the other.
final class WriteEndpoint: StreamEndpoint {
    private struct State {
        var ready = Ready()
        var isLast = false
        /// Whether the session ends with the stream.
        var endsSession = false

        mutating func fail(_ error: DocumentError, _ json: StreamJSON) {
            ready.fail(error, json)
            if endsSession { isLast = true }
        }
    }

    private let json: StreamJSON
    private let limits: ClientLimits.Write
    private let waiting: WaitingMessages
    private let state = Mutex(State())
    private let requests: AsyncStream<[UInt8]>.Continuation
    private let onNews: @Sendable () -> Void

    init(
        _ stream: WriteStream, _ json: StreamJSON, limits: ClientLimits.Write, waiting: WaitingMessages,
        call: ClientCall,
        onNews: @escaping @Sendable () -> Void
    ) {
        self.json = json
        self.limits = limits
        self.waiting = waiting
        self.onNews = onNews
        let (input, requests) = AsyncStream.makeStream(of: [UInt8].self)
        self.requests = requests
        Task { [weak self] in
            var stream = stream
            for await text in input {
                guard let self else { return }
                guard await ClientCall.$current.withValue(call, operation: { await self.handle(text, &stream) }) else {
                    return
                }
            }
            if let self, let refusal = self.waiting.refusal { self.fail(refusal) }
        }
    }

    /// - Returns: whether the stream goes on.
    private func handle(_ text: [UInt8], _ stream: inout WriteStream) async -> Bool {
        waiting.remove(text.count)
        let goesOn = state.withLock { state in
            if state.ready.messages.count > limits.waitingAnswers {
                state.fail(DocumentError(.resourceExhausted, "too many answers wait to be received"), json)
            }
            // What is still here after an error, the SDK sends again in another stream.
            return !state.ready.isEnded
        }
        guard goesOn else { return false }
        do throws(DocumentError) {
            let request = try await LargeRequests.decode(text.count, of: ClientCall.current?.address) {
                [json] () throws(DocumentError) in
                try json.read(text) { node throws(JSONProblem) in try json.writeRequest(node) }
            }
            let answer = try await stream.handle(request)
            state.withLock { state in
                switch answer {
                case .response(let response): state.ready.messages.append(StreamJSON.array(json.text(response)))
                case .last(let response):
                    state.ready.messages.append(StreamJSON.array(json.text(response)))
                    state.ready.messages.append(Array(#"["close"]"#.utf8))
                    state.ready.isEnded = true
                    state.isLast = true
                }
            }
        } catch {
            fail(error)
        }
        onNews()
        return !state.withLock { $0.ready.isEnded }
    }

    func receive(_ text: [UInt8]) {
        guard !state.withLock({ $0.ready.isEnded }), waiting.refusal == nil else { return }
        do throws(DocumentError) {
            try waiting.add(text.count)
        } catch {
            waiting.refuse(error)
            return requests.finish()
        }
        requests.yield(text)
    }

    var mustDeliver: Bool { true }

    func take() -> (messages: [[UInt8]], isLast: Bool) {
        state.withLock { state in
            let messages = state.ready.take().messages
            defer { state.isLast = false }
            return (messages, state.isLast)
        }
    }

    func fail(_ error: DocumentError) {
        state.withLock { $0.fail(error, json) }
        requests.finish()
        onNews()
    }

    /// The SDK takes the error for that of the first write that isn't answered.
    func refuseRest(_ error: DocumentError) {
        waiting.refuse(error)
        requests.finish()
    }

    func end(_ error: DocumentError) {
        state.withLock { state in
            state.endsSession = true
            if state.ready.isEnded { state.isLast = true }
        }
        refuseRest(error)
        onNews()
    }

    /// Each write is decided by the rules of its moment.
    func decideAgain() {}

    func refresh() {}

    func close() { requests.finish() }
}
