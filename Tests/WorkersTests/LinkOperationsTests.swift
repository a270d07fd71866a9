import DocumentModel
import NIOCore
import Testing
import WorkerProtocol
import WorkerTesting

@testable import Workers

/// Document operations of workers that ask for more than they read, and of those that ask for much.
@Suite struct LinkOperationsTests {
    private static let mebibyte = 1 << 20

    private static func document(_ bytes: Int) throws -> Document {
        Document(
            path: try DocumentPath("items/1"), fields: ["a": .bytes([UInt8](repeating: 1, count: bytes))],
            createTime: Timestamp(seconds: 1, nanoseconds: 0), updateTime: Timestamp(seconds: 1, nanoseconds: 0))
    }

    private static func get() throws -> DocumentRequest { .get([try DocumentPath("items/1")], .strong) }

    private static func set(_ bytes: Int, _ count: Int = 1) throws -> DocumentRequest {
        let write = Write(path: try DocumentPath("items/1"), operation: .set(try document(bytes).fields))
        return .commit([Write](repeating: write, count: count), transaction: nil, completing: nil)
    }

    /// An invocation, with the operations that it has sent.
    private struct Caller {
        let client: PlayedClient
        let worker: ScriptedWorker
        let id: UInt64

        func send(_ request: DocumentRequest, _ numbers: ClosedRange<UInt32>) {
            for number in numbers { worker.send(request, number: number, id) }
        }

        /// The answers that have reached the worker, by number.
        func answers() throws -> [UInt32: DocumentResponse] {
            var answers: [UInt32: DocumentResponse] = [:]
            for frame in worker.frames where frame.kind == .documentResponse && frame.invocation == id {
                var payload = frame.payload
                let number = try payload.read(UInt32.self)
                #expect(answers[number] == nil)
                answers[number] = try DocumentResponse(decoding: Array(payload.readableBytesView))
            }
            return answers
        }
    }

    private func caller(_ ring: InvocationRing) throws -> Caller {
        let client = try ring.admit()
        for worker in ring.processes.workers {
            if let id = worker.takeInvocations().first { return Caller(client: client, worker: worker, id: id) }
        }
        throw MissingInvocation()
    }

    private struct MissingInvocation: Error {}

    /// Answers all operations as the store does, each read with a document of this size.
    ///
    /// - Returns: how many were answered.
    @discardableResult private func answerAll(_ ring: InvocationRing, documentOf bytes: Int = 0) throws -> Int {
        let document = try Self.document(bytes)
        let total = ring.services.operationBytes
        let time = document.updateTime
        var count = 0
        while let operation = ring.documents.next() {
            switch operation.request {
            case .get:
                do throws(DocumentError) {
                    try operation.context.answer?.take(document.weight)
                    operation.answer(.documents([document], readTime: time))
                    count += 1
                } catch {
                    operation.answer(.failed(error))
                }
            default:
                let result = WriteResult(updateTime: time, transformResults: [])
                operation.answer(.committed(CommitResult(commitTime: time, writeResults: [result])))
                count += 1
            }
            #expect(total.held <= total.all)
            ring.run()
            #expect(total.held <= total.all)
        }
        return count
    }

    @Test func whoDoesNotReadItsAnswersHoldsUpNoOther() throws {
        let ring = InvocationRing(timeoutSeconds: 60, maxInstances: 2)
        let total = ring.services.operationBytes
        let hostile = try caller(ring)
        hostile.worker.stopReading()
        hostile.send(try Self.get(), 1...450)
        ring.run()
        #expect(total.held <= total.worker)
        let answered = try answerAll(ring, documentOf: Self.mebibyte)
        // Its first answers are written, as far as a socket takes them. Nothing else begins.
        #expect(answered > 0 && answered <= 32)
        #expect(total.held <= total.worker)
        #expect(hostile.worker.unwrittenBytes <= total.worker + 450 * 100)
        let honest = try caller(ring)
        honest.send(try Self.get(), 1...100)
        ring.run()
        try answerAll(ring, documentOf: Self.mebibyte)
        #expect(try honest.answers().count == 100)
        #expect(try hostile.answers().isEmpty)
        // Once it reads, it has them all.
        hostile.worker.readAgain()
        ring.run()
        try answerAll(ring, documentOf: Self.mebibyte)
        let answers = try hostile.answers()
        #expect(answers.count == 450)
        let found = answers.values.count {
            if case .documents(let documents, _) = $0 { documents.first != nil } else { false }
        }
        #expect(found == 450)
        #expect(total.held == 0)
    }

    /// Otherwise it would keep others from theirs for as long as its worker's operations wait.
    @Test func aLargeFrameHoldsNothingWhileItsLinkIsNotRead() throws {
        let ring = InvocationRing(timeoutSeconds: 60, maxInstances: 2)
        let hostile = try caller(ring)
        hostile.worker.stopReading()
        hostile.send(try Self.get(), 1...40)
        ring.run()
        try answerAll(ring, documentOf: Self.mebibyte)
        var bytes = ByteBuffer()
        let request = try Self.set(300_000)
        bytes.writeFrame(.documentRequest, invocation: hostile.id) {
            $0.writeInteger(UInt32(41))
            $0.writeBytes(request.encoded)
        }
        let start = bytes.writerIndex
        bytes.writeFrame(.result, invocation: hostile.id)
        bytes.setInteger(UInt32(20 * Self.mebibyte), at: start)
        hostile.worker.send(bytes)
        ring.run()
        #expect(hostile.worker.worker.links[0].isPaused)
        #expect(ring.services.frameBytes.held == 0)
        hostile.worker.readAgain()
        ring.run()
        try answerAll(ring, documentOf: Self.mebibyte)
        #expect(!hostile.worker.worker.links[0].isPaused)
        #expect(ring.services.frameBytes.held == 20 * Self.mebibyte + 4)
    }

    /// A function that observes much, where nothing changes, holds up no other work of its worker.
    @Test func whatWaitsHoldsNearlyNothing() {
        let account = OperationBytes().account()
        func needed(_ request: DatabaseRequest) -> Int {
            WorkerOperation(DocumentRequest.database(request).encoded, number: 1, of: 1, account: account).needed
        }
        #expect(needed(DatabaseRequest(.next, observation: 1)) < 1_024)
        #expect(needed(DatabaseRequest(.set, target: "a")) > 10_000)
    }

    /// Hundreds of reads may wait for their turn on one document, and the commit before them needs room, too.
    @Test func aReadThatWaitsForItsTurnHoldsLittle() throws {
        let account = OperationBytes().account()
        let operation = WorkerOperation(
            DocumentRequest.get([try DocumentPath("a/b"), try DocumentPath("a/c")], .strong).encoded, number: 1, of: 1,
            account: account)
        #expect(account.grow(by: operation.needed))
        operation.held = operation.needed
        #expect(operation.decoded(try operation.decode()))
        #expect(account.held > 200_000)
        operation.waits()
        #expect(account.held == operation.held && account.held < 20_000)
        try operation.take(10_000)
        #expect(account.held < 20_000)
        try operation.take(100_000)
        #expect(account.held == operation.held && account.held > 110_000)
        operation.release()
        #expect(account.held == 0)
    }

    /// It isn't performed again, so it must keep the room that it has.
    @Test func aReadWithTheMostRoomKeepsIt() throws {
        let account = OperationBytes().account()
        let operation = WorkerOperation(
            DocumentRequest.get([try DocumentPath("a/b"), try DocumentPath("a/c")], .strong).encoded, number: 1, of: 1,
            account: account)
        #expect(account.grow(by: account.largest))
        operation.held = account.largest
        #expect(operation.decoded(try operation.decode()))
        operation.waits()
        #expect(operation.held == account.largest)
    }

    @Test func whatHasNoRoomStaysInTheWorkersSocket() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let total = ring.services.operationBytes
        let caller = try caller(ring)
        caller.send(try Self.set(Self.mebibyte - 1000), 1...100)
        ring.run()
        #expect(total.held <= total.worker)
        #expect(caller.worker.unreadBytes > 60 << 20)
        try answerAll(ring)
        #expect(caller.worker.unreadBytes == 0)
        #expect(try caller.answers().count == 100)
        #expect(total.held == 0)
    }

    /// The store's own limit is 12 MiB of stored bytes.
    @Test func answersOfAllSizesArrive() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let caller = try caller(ring)
        caller.send(try Self.get(), 1...50)
        ring.run()
        for size in [0, 12 << 20, 300_000, 1000, 5 << 20] { try answerAll(ring, documentOf: size) }
        #expect(try caller.answers().count == 50)
        caller.send(try Self.get(), 51...60)
        ring.run()
        try answerAll(ring, documentOf: 12 << 20)
        #expect(try caller.answers().count == 60)
        #expect(ring.services.operationBytes.held == 0)
    }

    @Test func anAnswerBeyondAllBoundsFailsWithASentence() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let caller = try caller(ring)
        caller.send(try Self.get(), 1...1)
        ring.run()
        let operation = try #require(ring.documents.next())
        let error = #expect(throws: DocumentError.self) { try operation.context.answer?.take(65 << 20) }
        operation.answer(.failed(try #require(error)))
        ring.run()
        #expect(
            try caller.answers() == [
                1: .failed(
                    DocumentError(
                        .resourceExhausted,
                        "one answer may take 64 MiB of memory, the limit; ask for fewer, page by page"))
            ])
        #expect(ring.services.operationBytes.held == 0)
    }

    /// A service elsewhere counts nothing beforehand.
    @Test func aReadWhoseAnswerFindsNoRoomIsRepeated() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let total = ring.services.operationBytes
        let caller = try caller(ring)
        caller.send(try Self.get(), 1...100)
        ring.run()
        let document = try Self.document(Self.mebibyte)
        var performed = 0
        while let operation = ring.documents.next() {
            performed += 1
            operation.answer(.documents([document], readTime: document.updateTime))
            #expect(total.held <= total.worker)
            // As many at once as there are.
            if performed % 100 == 0 { ring.run() }
        }
        ring.run()
        while let operation = ring.documents.next() {
            performed += 1
            operation.answer(.documents([document], readTime: document.updateTime))
            ring.run()
            #expect(total.held <= total.worker)
        }
        #expect(try caller.answers().count == 100)
        #expect(performed > 100)
        #expect(total.held == 0)
    }

    // MARK: Ends

    @Test func aClosedLinkGivesEverythingBackOnce() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let total = ring.services.operationBytes
        let caller = try caller(ring)
        caller.worker.stopReading()
        caller.send(try Self.get(), 1...300)
        ring.run()
        let document = try Self.document(200_000)
        let running = try (0..<50).map { _ in try #require(ring.documents.next()) }
        for operation in running[..<25] { operation.answer(.documents([document], readTime: document.updateTime)) }
        ring.run()
        caller.worker.closeLink()
        ring.run()
        #expect(total.held > 0)
        for operation in running[25...] { operation.answer(.documents([document], readTime: document.updateTime)) }
        ring.run()
        while let operation = ring.documents.next() { operation.answer(.failed(.callerLeft)) }
        ring.run()
        #expect(total.held == 0)
    }

    @Test func anEndedInvocationsOperationsDoNotBegin() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let total = ring.services.operationBytes
        let caller = try caller(ring)
        caller.send(try Self.get(), 1...300)
        caller.worker.send(.result, caller.id) { $0.writeString("1") }
        ring.run()
        var begun = 0
        while let operation = ring.documents.next() {
            begun += 1
            operation.answer(.failed(.callerLeft))
            ring.run()
        }
        #expect(begun > 0 && begun < 300)
        #expect(try caller.answers().isEmpty)
        #expect(total.held == 0)
    }

    @Test func theOperationsOfAHandlerPastItsDeadlineAreRefused() throws {
        let ring = InvocationRing(timeoutSeconds: 1)
        let caller = try caller(ring)
        caller.send(try Self.get(), 1...300)
        ring.advance(.milliseconds(1050))
        var begun = 0
        while let operation = ring.documents.next() {
            begun += 1
            operation.answer(.failed(.callerLeft))
        }
        ring.run()
        let answers = try caller.answers()
        #expect(answers.count == 300)
        let refusal = DocumentResponse.failed(DocumentError(.cancelled, "the invocation is over"))
        #expect(answers.values.count { $0 == refusal } == 300 - begun)
        #expect(ring.services.operationBytes.held == 0)
    }

    // MARK: Requests that are too large

    @Test func anOversizedRequestIsRefusedAndItsWorkerGoesOn() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let caller = try caller(ring)
        let request = try Self.set(Self.mebibyte, 11)
        let size = request.encoded.count
        #expect(size > DocumentRequest.maxBytes)
        caller.send(request, 1...1)
        caller.send(try Self.get(), 2...2)
        ring.run()
        try answerAll(ring)
        let answers = try caller.answers()
        #expect(
            answers[1]
                == .failed(.invalidArgument("a request has \(size) bytes, more than 10 MiB, the limit")))
        #expect(answers.count == 2 && caller.worker.isRunning)
    }

    @Test func aRequestWithTooManyValuesIsRefusedAndItsWorkerGoesOn() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let caller = try caller(ring)
        let write = Write(
            path: try DocumentPath("items/1"),
            operation: .set(["a": .array([Value](repeating: .null, count: 4_000_000))]))
        caller.send(.commit([write], transaction: nil, completing: nil), 1...1)
        caller.send(try Self.get(), 2...2)
        ring.run()
        try answerAll(ring)
        let answers = try caller.answers()
        #expect(
            answers[1]
                == .failed(
                    .invalidArgument(
                        "a request has so many values that it takes more than 64 MiB of memory, the limit; use several "
                            + "requests")))
        #expect(answers.count == 2 && caller.worker.isRunning)
        #expect(ring.services.operationBytes.held == 0)
    }

    /// What a function stores or asks for may be a client's: it must not end the worker.
    @Test func aRequestBeyondALimitIsRefusedAndItsWorkerGoesOn() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let caller = try caller(ring)
        let path = try DocumentPath("items/1")
        func set(_ value: Value) -> DocumentRequest {
            .commit([Write(path: path, operation: .set(["a": value]))], transaction: nil, completing: nil)
        }
        var deep = Value.null
        for _ in 0..<100 { deep = .map(["a": deep]) }
        var long = Query(collectionID: "items")
        long.offset = 2_147_483_648
        var filter = Query.Filter.unary(try FieldPath("a"), .isNull)
        for _ in 0..<40 { filter = .and([filter]) }
        var nested = Query(collectionID: "items")
        nested.filter = filter
        caller.send(set(deep), 1...1)
        caller.send(set(.timestamp(Timestamp(seconds: .max, nanoseconds: 0))), 2...2)
        caller.send(.query(long, .strong), 3...3)
        caller.send(.query(nested, .strong), 4...4)
        caller.send(try Self.get(), 5...5)
        ring.run()
        try answerAll(ring)
        let answers = try caller.answers()
        let reasons = [
            "a: a value is nested deeper than 64 levels; a document may have 20",
            "a: a timestamp is not within the years 1 to 9999",
            "an offset or limit of 2147483648 is more than 2147483647, the limit",
            "a filter is nested deeper than 32 levels, the limit",
        ]
        for (number, reason) in zip(UInt32(1)..., reasons) {
            #expect(answers[number] == .failed(.invalidArgument(reason)))
        }
        #expect(answers.count == 5 && caller.worker.isRunning)
        #expect(ring.services.operationBytes.held == 0)
    }

    /// Each null takes a byte of the request, and much more once it is decoded.
    @Test func requestsCountAsTheyAreDecoded() throws {
        let ring = InvocationRing(timeoutSeconds: 60)
        let total = ring.services.operationBytes
        let caller = try caller(ring)
        let write = Write(
            path: try DocumentPath("items/1"),
            operation: .set(["a": .array([Value](repeating: .null, count: 200_000))]))
        caller.send(.commit([write], transaction: nil, completing: nil), 1...10)
        ring.run()
        var (begun, most) = (0, 0)
        while true {
            var operations: [ScriptedDocuments.Operation] = []
            while let operation = ring.documents.next() { operations.append(operation) }
            if operations.isEmpty { break }
            most = max(most, operations.count)
            begun += operations.count
            for operation in operations { operation.answer(.failed(.callerLeft)) }
            ring.run()
        }
        #expect(begun == 10)
        #expect(most <= total.worker / (200_000 * MemoryLayout<Value>.stride))
        #expect(total.held == 0)
    }
}
