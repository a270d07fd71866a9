import DocumentModel
import FunctionManifest
import WorkerProtocol
@testable import Gateway
import NIOCore
import NIOHTTP1
import Testing

@Suite struct GatewayTextTests {
    private func json(_ failure: InvocationFailure) -> String {
        var buffer = ByteBuffer()
        ErrorBody.write(failure, to: &buffer)
        return String(buffer: buffer)
    }

    @Test func errorsHaveTheCallableForm() {
        #expect(json(.badRequest) == #"{"error":{"message":"Bad Request","status":"INVALID_ARGUMENT"}}"#)
        let failure = InvocationFailure(
            code: .failedPrecondition, message: "a\"b\\c\nd é", details: ByteBuffer(string: "[1]"))
        #expect(
            json(failure)
                == #"{"error":{"details":[1],"message":"a\"b\\c\nd é","status":"FAILED_PRECONDITION"}}"#)
    }

    @Test(arguments: [
        ("X-Good", "value", true), ("X-Tab", "a\tb", true), ("X-Bad", "a\r\nSet-Cookie: x", false),
        ("X Bad", "v", false), ("", "v", false), ("X-Bad:", "v", false), ("X-Nul", "a\u{0}", false),
        ("X-Umlaut", "ä", true),
    ])
    func headersThatCouldForgeOthersAreDropped(name: String, value: String, isField: Bool) {
        #expect(HTTPText.isField(name, value) == isField)
    }

    @Test(arguments: [
        ("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER abc", "abc"), ("Basic abc", nil), ("Bearer", nil),
        ("", nil), ("Bearer ", ""), ("Béarer abc", nil),
    ])
    func bearerIsReadInAnyCase(header: String, token: String?) {
        #expect(TokenCheck.bearerToken(header).map(String.init) == token)
    }

    @Test func originsAreReflectedOnlyWhereAllowed() {
        func allowed(_ policy: CORSPolicy, _ origin: String) -> String? {
            var headers = HTTPHeaders()
            CORSHeaders.add(to: &headers, ["Origin": origin], policy: policy)
            return headers.first(name: "Access-Control-Allow-Origin")
        }
        #expect(allowed(.any, "https://a.example") == "https://a.example")
        #expect(allowed(.off, "https://a.example") == nil)
        #expect(allowed(.origins(["https://a.example"]), "https://a.example") == "https://a.example")
        #expect(allowed(.origins(["https://a.example"]), "https://b.example") == nil)
    }

    @Test func dateHeaderIsOfTheFormOfHTTP() {
        #expect(WallClockDate.http(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(WallClockDate.http(1_795_248_051) == "Sat, 21 Nov 2026 08:00:51 GMT")
    }

    @Test func manifestForToolsIsYAML() {
        let function = FunctionManifest(
            name: "nightly", regions: ["us-central1"], memoryMiB: 256, timeoutSeconds: 60, cpu: 1, concurrency: 80,
            minInstances: 0, maxInstances: 100, labels: ["team": "a\"b"], secrets: [], ingress: "ALLOW_ALL",
            invoker: ["public"], isTransactional: false,
            trigger: .schedule(
                .init(
                    schedule: "every day 03:00", timeZone: "Asia/Tokyo", retryCount: 0, maxRetrySeconds: 0,
                    minBackoffSeconds: 5, maxBackoffSeconds: 3600, maxDoublings: 5)))
        let yaml = FunctionsDocument.yaml([function])
        #expect(yaml.hasPrefix("specVersion: v1alpha1\nendpoints:\n  nightly:\n    entryPoint: nightly\n"))
        #expect(yaml.contains("    labels:\n      \"team\": \"a\\\"b\"\n"))
        #expect(yaml.contains("    scheduleTrigger:\n      schedule: \"every day 03:00\"\n"))
        #expect(FunctionsDocument.yaml([]) == "specVersion: v1alpha1\nendpoints: {}\n")
    }
}
