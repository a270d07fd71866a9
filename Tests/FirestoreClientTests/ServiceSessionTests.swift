@testable import FirestoreClient
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

/// Requests over real connections, and the bounds of their answers.
struct ServiceSessionTests {
    private func serving(_ body: @Sendable (String) async throws -> Void) async throws {
        let router = Router()
        let (gate, open) = AsyncStream<Void>.makeStream()
        router.post("echo") { request, context in
            let text = try await request.body.collect(upTo: 1 << 20)
            let token = request.headers[.authorization] ?? ""
            return Response(
                status: .conflict, body: .init(byteBuffer: ByteBuffer(string: token + String(buffer: text))))
        }
        router.get("large") { _, _ in
            Response(status: .ok, body: .init(byteBuffer: ByteBuffer(repeating: 0, count: 100_000)))
        }
        router.get("elsewhere") { _, _ in Response(status: .found, headers: [.location: "/large"]) }
        router.get("never") { _, _ in
            for await _ in gate {}
            return Response(status: .ok)
        }
        let application = Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            defer { open.finish() }
            try await body("http://127.0.0.1:\(try #require(client.port))")
        }
    }

    private func get(_ address: String, maxBytes: Int = 1000, timeout: Double = 20) -> ServiceRequest {
        ServiceRequest(address: address, headers: [:], body: nil, maxBytes: maxBytes, timeout: timeout)
    }

    private func kind(_ request: ServiceRequest, _ session: ServiceSession) async -> ServiceFailure.Kind? {
        do throws(ServiceFailure) {
            _ = try await session.send(request)
            return nil
        } catch {
            return error.kind
        }
    }

    @Test func manyRequestsAreAnsweredSideBySide() async throws {
        try await serving { origin in
            let session = ServiceSession()
            try await withThrowingTaskGroup(of: (Int, ServiceAnswer).self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let request = ServiceRequest(
                            address: origin + "/echo", headers: ["Authorization": "Bearer a"],
                            body: Array("\(number)".utf8), maxBytes: 1000, timeout: 20)
                        return (number, try await session.send(request))
                    }
                }
                for try await (number, answer) in group {
                    #expect(answer == ServiceAnswer(status: 409, body: Array("Bearer a\(number)".utf8)))
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func anAnswerIsBoundedInSizeAndTimeAndLeadsNowhereElse() async throws {
        try await serving { origin in
            let session = ServiceSession()
            #expect(await kind(get(origin + "/large"), session) == .tooLarge)
            #expect(await kind(get(origin + "/large", maxBytes: 100_000), session) == nil)
            #expect(await kind(get(origin + "/never", timeout: 1), session) == .timedOut)
            let answer = try await session.send(get(origin + "/elsewhere"))
            #expect(answer.status == 302)
        }
    }

    @Test(.timeLimit(.minutes(1))) func aRequestThatNobodyWaitsForEnds() async throws {
        try await serving { origin in
            let session = ServiceSession()
            let request = get(origin + "/never", timeout: 300)
            let task = Task { await kind(request, session) }
            task.cancel()
            #expect(await task.value == .cancelled)
            let begun = Task { await kind(request, session) }
            #expect(await kind(get(origin + "/large", maxBytes: 100_000), session) == nil)
            begun.cancel()
            #expect(await begun.value == .cancelled)
        }
    }

    @Test(.timeLimit(.minutes(1))) func anAnswerWithoutRoomIsGivenUpWhereItCanBeAskedForAgain() async throws {
        try await serving { origin in
            let session = ServiceSession()
            let all = FairRoom(50_000)
            var request = get(origin + "/large", maxBytes: 100_000)
            request.room = AnswerRoom(in: all)
            #expect(await kind(request, session) == .noRoom)
            request.isRepeatable = false
            #expect(await kind(request, session) == nil)
            request.room?.giveBack()
            #expect(all.free == 50_000)
        }
    }

    @Test func whoIsntThereHasSeenNothing() async throws {
        let session = ServiceSession()
        // Nobody listens on the first port.
        #expect(await kind(get("http://127.0.0.1:1/"), session) == .notSent)
        #expect(await kind(get("http://:x"), session) == .notSent)
    }
}
