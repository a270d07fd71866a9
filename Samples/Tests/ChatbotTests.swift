import FunctionsHTTPClient
import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ChatbotFunctions

@Suite struct ChatbotTests {
    private let tester: FunctionsTester

    init() throws { tester = try FunctionsTester(ChatbotFunctions(), secrets: ["MODEL_KEY": "key"]) }

    @Test func theAnswerIsStreamed() async throws {
        let all: TestStream<String, String> = try await withFetch { request in
            #expect(request.headers["Authorization"] == "Bearer key")
            let prompt = try request.json(as: JSONValue.self)
            #expect(prompt["messages"]?[0]?["content"] == "Why?")
            #expect(prompt["user"] == "ada")
            return .stream(headers: ["Content-Type": "text/event-stream"]) { writer in
                for part in [#"{"content":"Be"}"#, "{}", #"{"content":"cause."}"#] {
                    try await writer.write("data: {\"choices\":[{\"delta\":\(part)}]}\n\n")
                }
                try await writer.write("data: [DONE]\n\n")
            }
        } run: {
            try await tester.stream("ask", Question(text: "Why?"), as: .user("ada"))
        }
        #expect(all.chunks == ["Be", "cause."])
        #expect(all.answer == "Because.")
    }

    @Test func anAnswerThatBreaksOffIsAnError() async throws {
        let error = await #expect(throws: HttpsError.self) {
            try await withFetch { _ in
                .stream { try await $0.write("data: {\"choices\":[{\"delta\":{\"content\":\"Be\"}}]}\n\n") }
            } run: {
                let _: String = try await tester.call("ask", Question(text: "Why?"), as: .user("ada"))
            }
        }
        #expect(error?.code == .unavailable)
    }

    @Test func aBusyModelIsReported() async throws {
        let error = await #expect(throws: HttpsError.self) {
            try await withFetch { _ in
                HTTPResponse(status: 429)
            } run: {
                let _: String = try await tester.call("ask", Question(text: "Why?"), as: .user("ada"))
            }
        }
        #expect(error?.code == .resourceExhausted)
    }

    @Test func strangersAreRefused() async throws {
        let error = await #expect(throws: HttpsError.self) {
            let _: String = try await tester.call("ask", Question(text: "Why?"))
        }
        #expect(error?.code == .unauthenticated)
    }
}
