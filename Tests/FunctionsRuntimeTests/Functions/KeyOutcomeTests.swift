import DocumentModel
import FunctionsRuntime
import Logging
import NIOCore
import Testing
import WorkerProtocol

/// What a handler's end means for the idempotency key of its call.
@Suite struct KeyOutcomeTests {
    private struct Lost: Error {}

    private struct Unencodable: Encodable {
        func encode(to encoder: any Encoder) throws { throw Lost() }
    }

    private static let begin = DocumentRequest.claim(key: "k", .once)

    /// Calls a function as a worker does, and returns the call's result and its log lines.
    private func call(
        _ function: Function, over transport: ScriptedTransport, header: String? = nil
    ) async -> (result: Result<[UInt8], any Error>, lines: [String]) {
        guard case .callable(let handler) = function.handler else {
            return (.failure(DocumentError(.internal, "\(function.name) isn't callable")), [])
        }
        let lines = Kept<String>()
        var head = InvocationHead(executionID: "run", timeLeft: 60_000)
        head.idempotencyKey = header
        let context = InvocationContext(
            head: head, body: ByteBuffer(string: #""k""#), deadline: .now + .seconds(60), transport: transport,
            logger: Logger(label: "test") { _ in KeepingLogHandler(lines: lines) },
            sendChunk: { _ in }, writeBody: { _ in })
        do {
            return (.success(try await handler.run(context)), lines.all)
        } catch {
            return (.failure(error), lines.all)
        }
    }

    @Test func anHttpsErrorSaysThatTheWorkWasNotDone() async throws {
        let transport = ScriptedTransport([.claimed, .settled])
        let function = onCall("f", .idempotencyKey(\.self)) { (_: CallableRequest<String>) -> Int in
            throw HttpsError(.notFound, "No such card.")
        }
        let (result, _) = await call(function, over: transport)
        #expect(throws: HttpsError.self) { try result.get() }
        #expect(transport.requests == [Self.begin, .settle(nil)])
    }

    /// It stays begun: the work may have been done before the error.
    @Test(arguments: [Lost() as any Error, CancellationError(), DocumentError(.unavailable, "lost")])
    func anyOtherErrorLeavesTheOutcomeInDoubt(error: any Error) async throws {
        let transport = ScriptedTransport([.claimed])
        let function = onCall("f", .idempotencyKey(\.self)) { (_: CallableRequest<String>) -> Int in throw error }
        let (result, _) = await call(function, over: transport)
        #expect(throws: (any Error).self) { try result.get() }
        #expect(transport.requests == [Self.begin])
    }

    @Test func aResultThatDoesNotEncodeComesAfterTheWork() async throws {
        let transport = ScriptedTransport([.claimed])
        let function = onCall("f", .idempotencyKey(\.self)) { (_: CallableRequest<String>) in Unencodable() }
        let (result, _) = await call(function, over: transport)
        #expect(throws: Lost.self) { try result.get() }
        #expect(transport.requests == [Self.begin])
    }

    @Test func workThatIsDoneIsAnsweredEvenIfTheAnswerIsNotStored() async throws {
        let transport = ScriptedTransport([.claimed, .failed(DocumentRequest.tooLarge(11_000_000))])
        let function = onCall("f", .idempotencyKey(\.self)) { (_: CallableRequest<String>) in 7 }
        let (result, lines) = await call(function, over: transport)
        #expect(try result.get() == Array("7".utf8))
        #expect(transport.requests == [Self.begin, .settle(Array("7".utf8))])
        #expect(lines == ["error: a response isn't stored under its idempotency key, so repeated calls don't get it"])
    }

    /// Any signed-in user may send it a key.
    @Test func aFunctionThatDoesNotAskForKeysStoresLittle() async throws {
        for (bytes, isStored) in [(1_000_000, true), (1_000_001, false)] {
            let transport = ScriptedTransport([.claimed, .settled])
            let function = onCall("f") { (_: CallableRequest<String>) in String(repeating: "a", count: bytes - 2) }
            let (result, lines) = await call(function, over: transport, header: "k")
            #expect(try result.get().count == bytes)
            #expect(transport.requests.count == (isStored ? 2 : 1))
            #expect(lines.isEmpty == isStored)
        }
    }
}

/// Keeps the level and the message of each line.
private struct KeepingLogHandler: LogHandler {
    let lines: Kept<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(lines: Kept<String>) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.keep("\(event.level): \(event.message)") }
}
