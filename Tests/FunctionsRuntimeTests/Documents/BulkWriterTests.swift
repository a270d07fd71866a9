import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Synchronization
import TestSupport
import Testing

/// What happens to writes that fail temporarily.
struct BulkWriterTests {
    private static let written = Result<WriteResult, DocumentError>.success(
        WriteResult(updateTime: DocumentResponse.time, transformResults: []))

    private static func refused(_ code: StatusCode) -> Result<WriteResult, DocumentError> {
        .failure(DocumentError(code, "not now"))
    }

    private static func sent(_ transport: ScriptedTransport) -> [[String]] {
        transport.requests.map { request in
            if case .batchWrite(let writes) = request { writes.map(\.path.string) } else { [] }
        }
    }

    @Test func whatFailsForTheMomentIsTriedAgainBeforeLaterWrites() async throws {
        let transport = ScriptedTransport([
            .written([
                Self.refused(.aborted), Self.written, Self.refused(.unavailable), Self.refused(.notFound),
                Self.refused(.resourceExhausted),
            ]),
            .failed(DocumentError(.unavailable, "the whole request too")),
            .written([Self.written, Self.refused(.aborted), Self.written]),
            .written([Self.written]), .written([Self.written]),
        ])
        let firestore = Firestore(transport: transport)
        let pauses = Mutex<[Duration]>([])
        let writer = BulkWriter(firestore: firestore) { pause in pauses.withLock { $0.append(pause) } }
        for id in ["a", "b", "c", "d", "e"] {
            try await writer.setData(["n": 1], forDocument: firestore.document("c/\(id)"))
        }
        // The second write of a document comes after all tries of the first.
        try await writer.deleteDocument(firestore.document("c/c"))
        let failures = await writer.close()
        #expect(failures.map(\.reference.path) == ["c/d"] && failures.first?.error.code == .notFound)
        #expect(
            Self.sent(transport) == [
                ["c/a", "c/b", "c/c", "c/d", "c/e"], ["c/a", "c/c", "c/e"], ["c/a", "c/c", "c/e"], ["c/c"], ["c/c"],
            ])
        let taken = pauses.withLock { $0 }
        #expect(taken.count == 3)
        for (pause, milliseconds) in zip(taken, [100.0, 200, 400]) {
            #expect((milliseconds * 0.69...milliseconds * 1.31).contains(pause / .milliseconds(1)))
        }
    }

    /// Otherwise hundreds of large writes would be in memory at once, and sent again and again in smaller parts.
    @Test(arguments: [false, true]) func batchesAreBoundedByTheirSize(isTransformed: Bool) async throws {
        let transport = ScriptedTransport(
            [8, 8, 4].map { .written(Array(repeating: Self.written, count: $0)) })
        let firestore = Firestore(transport: transport)
        let writer = BulkWriter(firestore: firestore) { _ in }
        let text = String(repeating: "x", count: 1_000_000)
        for id in 0..<20 {
            let value: Any? = isTransformed ? FieldValue.arrayUnion([text]) : text
            try await writer.setData(["t": value], forDocument: firestore.document("c/\(id)"))
        }
        #expect(await writer.close().isEmpty)
        #expect(Self.sent(transport).map(\.count) == [8, 8, 4])
    }

    /// As where a value is nested too deeply for the link, which fails the request that it is in.
    @Test func aWriteThatCanNotBeSentFailsAlone() async throws {
        let invalid = DocumentError(.invalidArgument, "n: too deep")
        let transport = ScriptedTransport([
            .failed(invalid), .written([Self.written, Self.refused(.notFound)]),
            .failed(invalid), .failed(invalid), .written([Self.written]),
        ])
        let firestore = Firestore(transport: transport)
        let writer = BulkWriter(firestore: firestore) { _ in }
        for id in ["a", "b", "c", "d"] {
            try await writer.setData(["n": 1], forDocument: firestore.document("c/\(id)"))
        }
        let failures = await writer.close()
        #expect(failures.map(\.reference.path) == ["c/b", "c/c"])
        #expect(failures.map(\.error) == [DocumentError(.notFound, "not now"), invalid])
        #expect(
            Self.sent(transport) == [
                ["c/a", "c/b", "c/c", "c/d"], ["c/a", "c/b"], ["c/c", "c/d"], ["c/c"], ["c/d"],
            ])
    }

    @Test func aWriteIsTriedTenTimesAtMost() async throws {
        let transport = ScriptedTransport(Array(repeating: .written([Self.refused(.resourceExhausted)]), count: 20))
        let firestore = Firestore(transport: transport)
        let writer = BulkWriter(firestore: firestore) { _ in }
        try await writer.deleteDocument(firestore.document("c/a"))
        #expect(await writer.close().map(\.error.code) == [.resourceExhausted])
        #expect(transport.requests.count == 10)
    }

    @Test(.endsHangs) func cancellationEndsTheWaiting() async throws {
        let transport = ScriptedTransport([.written([Self.refused(.unavailable), Self.written])])
        let firestore = Firestore(transport: transport)
        let (asleep, continuation) = AsyncStream.makeStream(of: Void.self)
        let writer = BulkWriter(firestore: firestore) { _ in
            continuation.yield()
            try await Task.sleep(for: .seconds(3600))
        }
        try await writer.deleteDocument(firestore.document("c/a"))
        try await writer.deleteDocument(firestore.document("c/b"))
        let closing = Task {
            defer { continuation.finish() }
            return await writer.close()
        }
        var sleeps = asleep.makeAsyncIterator()
        #expect(await sleeps.next() != nil)
        closing.cancel()
        let failures = await closing.value
        #expect(failures.map(\.reference.path) == ["c/a"] && failures.first?.error.code == .unavailable)
        #expect(transport.requests.count == 1)
    }

    @Test(.endsHangs) func theTriesOfOneTaskGoOnWhereAnotherOneThatWaitsIsCancelled() async throws {
        let transport = ScriptedTransport([
            .written([Self.refused(.unavailable)]), .written([Self.written]), .written([Self.written]),
        ])
        let firestore = Firestore(transport: transport)
        let second = Mutex<Task<[BulkWriter.Failure], Never>?>(nil)
        let (asleep, continuation) = AsyncStream.makeStream(of: Void.self)
        let writer = BulkWriter(firestore: firestore) { _ in
            continuation.yield()
            // Until the other one has come to wait, for all that can be seen from here.
            while second.withLock({ $0 }) == nil { await Task.yield() }
            for _ in 0..<10_000 { await Task.yield() }
            try Task.checkCancellation()
        }
        try await writer.deleteDocument(firestore.document("c/a"))
        let first = Task {
            defer { continuation.finish() }
            return await writer.flush()
        }
        var sleeps = asleep.makeAsyncIterator()
        #expect(await sleeps.next() != nil)
        try await writer.deleteDocument(firestore.document("c/b"))
        let waiting = Task { await writer.flush() }
        waiting.cancel()
        second.withLock { $0 = waiting }
        #expect(await first.value.isEmpty)
        #expect(await waiting.value.isEmpty)
        #expect(Self.sent(transport) == [["c/a"], ["c/a"], ["c/b"]])
    }
}
