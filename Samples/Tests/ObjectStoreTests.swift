import FunctionsHTTPClient
import FunctionsRuntime
import FunctionsTesting
import Synchronization
import Testing

@testable import ObjectStoreFunctions

/// The examples of the protocol's documentation, "Authenticating Requests (AWS Signature Version 4)".
@Suite struct RequestSignerTests {
    private let signer = RequestSigner(
        keyID: "AKIAIOSFODNN7EXAMPLE", key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1")
    private let time = Timestamp(seconds: 1_369_353_600, nanoseconds: 0)

    @Test func getIsSignedAsDocumented() {
        let headers = signer.headers(
            "GET", "https://examplebucket.s3.amazonaws.com/test.txt", ["Range": "bytes=0-9"], body: [], at: time)
        #expect(
            headers["Authorization"]?.hasSuffix(
                "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41") == true)
    }

    @Test func putIsSignedAsDocumented() {
        let headers = signer.headers(
            "PUT", "https://examplebucket.s3.amazonaws.com/\(RequestSigner.encoded("test$file.text"))",
            ["Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
            body: Array("Welcome to Amazon S3.".utf8), at: time)
        #expect(
            headers["Authorization"]?.hasSuffix(
                "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd") == true)
    }

    @Test func aURLIsSignedAsDocumented() {
        let url = signer.presignedURL(
            "GET", "https://examplebucket.s3.amazonaws.com/test.txt", expires: .days(1), at: time)
        #expect(
            url.hasSuffix("&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"))
    }
}

@Suite struct ObjectStoreTests {
    private let tester: FunctionsTester

    init() throws {
        tester = try FunctionsTester(
            ObjectStoreFunctions(), params: ["BUCKET_URL": "https://files.example", "BUCKET_KEY_ID": "id"],
            secrets: ["BUCKET_KEY": "key"])
    }

    @Test func aUserUploadsToTheirOwnFolder() async throws {
        func url(_ name: String, _ type: String = "image/png", bytes: Int = 1000, as caller: TestCaller? = .user("ada"))
            async throws -> String
        {
            try await tester.call("uploadURL", Upload(name: name, type: type, bytes: bytes), as: caller)
        }
        let signed = try await url("../b/ä.png")
        #expect(signed.hasPrefix("https://files.example/users/ada/..%2Fb%2F%C3%A4.png?X-Amz-Algorithm="))
        #expect(signed.contains("&X-Amz-SignedHeaders=content-length%3Bcontent-type%3Bhost&"))
        await #expect(throws: HttpsError.self) { try await url("..") }
        await #expect(throws: HttpsError.self) { try await url("a", as: nil) }
        await #expect(throws: HttpsError.self) { try await url("a", "image/svg+xml") }
        await #expect(throws: HttpsError.self) { try await url("a", bytes: 50_000_001) }
    }

    @Test func anAvatarIsStored() async throws {
        let form = """
            --b\r\nContent-Disposition: form-data; name="image"; filename="me.png"\r\nContent-Type: image/png\r\n\r\n\
            PNG\r\n--b--\r\n
            """
        let requests = Mutex<[FetchRequest]>([])
        let answer = try await withFetch { request in
            requests.withLock { $0.append(request) }
            return HTTPResponse()
        } run: {
            try await tester.request(
                "avatar", method: "POST", headers: ["Content-Type": "multipart/form-data; boundary=b"],
                body: Array(form.utf8), as: .user("ada"))
        }
        #expect(answer.text == #"{"path":"/users/ada/avatar"}"#)
        let sent = requests.withLock { $0 }
        #expect(sent.map(\.method) == ["PUT"])
        #expect(sent.first?.text == "PNG")
        #expect(sent.first?.headers["Content-Type"] == "image/png")
        #expect(sent.first?.headers["Authorization"]?.hasPrefix("AWS4-HMAC-SHA256 Credential=id/") == true)
    }

    @Test func whatIsNotAnImageIsRefused() async throws {
        let form = "--b\r\nContent-Disposition: form-data; name=\"image\"\r\n\r\nx\r\n--b--\r\n"
        let answer = try await tester.request(
            "avatar", method: "POST", headers: ["Content-Type": "multipart/form-data; boundary=b"],
            body: Array(form.utf8), as: .user("ada"))
        #expect(answer.status == 400)
    }
}
