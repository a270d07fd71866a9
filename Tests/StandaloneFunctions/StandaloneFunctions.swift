import FunctionsRuntime
import FunctionsServing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

private let greeting = defineString("GREETING", default: "Hello")
private let limit = defineInt("LIMIT", default: 10)
private let apiKey = defineSecret("API_KEY", description: "Of the service that the fixture asks")

/// A standalone bundle for tests.
@main
struct StandaloneFunctions: ServableBundle {
    var params: [ParamDefinition] {
        greeting
        limit
    }

    var functions: [Function] {
        onCall("hello") { (request: CallableRequest<String>) in
            "\(greeting.value), \(request.data), \(limit.value) times"
        }
        onCall("whoami") { (request: CallableRequest<NoData>) in request.auth?.uid }
        onCall("countdown") { (request: CallableRequest<Int>, response: StreamingResponse<Int>) in
            for number in stride(from: request.data, to: 0, by: -1) { try await response.sendChunk(number) }
            return "liftoff"
        }
        onRequest("page") { request in HTTPResponse(body: Array("\(request.method) \(request.path)".utf8)) }
        // Stands in for the cloud's metadata server, at every path.
        onRequest("metadata") { request in
            let isAsked =
                request.path == "/computeMetadata/v1/project/project-id"
                && request.headers["Metadata-Flavor"] == "Google"
            return HTTPResponse(status: isAsked ? 200 : 404, body: Array("demo-cloud\n".utf8))
        }
        onCall("trap") { (request: CallableRequest<Int>) -> Int in [1, 2, 3][request.data] }
        onCall("hangs", .timeout(.seconds(1))) { (request: CallableRequest<NoData>) in
            try await Task.sleep(for: .seconds(3600))
        }
        onCall("slow", .timeout(.seconds(30))) { (request: CallableRequest<Int>) in
            try await Task.sleep(for: .milliseconds(request.data))
            return request.data
        }
        onCall("environment") { (request: CallableRequest<[String]>) in
            request.data.map { getenv($0).map { String(cString: $0) } }
        }
        onCall("leavesChild") { (request: CallableRequest<NoData>) in
            // In a new session, so that it outlives even the worker.
            popen("setsid sleep 3600 >/dev/null 2>&1 &", "r").map { _ = pclose($0) }
        }
        onCall("readsSecret", .secrets(apiKey)) { (request: CallableRequest<NoData>) in
            request.logger.info("the key is \(apiKey.value)!", metadata: ["reason": "\"test\""])
            return apiKey.value.count
        }
        onRequest("oncePerAddress", .callerLimit(.perAddress(1, per: .seconds(3600)))) { _ in HTTPResponse(body: []) }
        onCall("count") { (request: CallableRequest<String>, transaction: Transaction) in
            let counter = transaction.firestore.collection("counters").document(request.data)
            let value = try await transaction.getDocument(counter).get("value")
            let next = if case .integer(let count)? = value { Int(count) + 1 } else { 1 }
            try transaction.setData(["value": next], forDocument: counter)
            return next
        }
        beforeUserCreated("onlyCompany") { event in
            guard event.data.email?.hasSuffix("@example.com") == true else {
                throw HttpsError(.permissionDenied, "Only for members of the company.")
            }
            return BeforeCreateResponse(displayName: "Member", customClaims: ["member": true])
        }
        onCall("adopt") { (request: CallableRequest<String>) in
            let user = try await request.users.create(UserCreation(uid: request.data, displayName: "Ada"))
            try await request.users.setCustomClaims(["staff": true], for: user.uid)
            return try await request.users.customToken(for: user.uid)
        }
        onCall("adoptInTransaction") { (request: CallableRequest<String>, transaction: Transaction) in
            do {
                try await request.firestore.runTransaction { transaction in
                    _ = try transaction.users.create(UserCreation(uid: request.data))
                }
            } catch let error as DocumentError {
                throw HttpsError(error.code, error.message)
            }
        }
        onCall("like") { (request: CallableRequest<String>) in
            let likes = request.database.reference(withPath: "likes/\(request.data)")
            let liked = try await likes.runTransactionBlock { data in
                data.value = .integer(Int64((data.value?.intValue ?? 0) + 1))
                return .success(withValue: data)
            }
            for try await seen in likes.observe(.value) { return seen.value?.intValue ?? 0 }
            return liked.committed ? -1 : -2
        }
        onCall("likeInTransaction") { (request: CallableRequest<String>) in
            do {
                try await request.firestore.runTransaction { transaction in
                    let likes = request.database.reference(withPath: "likes/\(request.data)")
                    _ = try await transaction.database.getData(likes)
                    try transaction.database.setValue(9, at: likes)
                }
            } catch let error as DocumentError {
                throw HttpsError(error.code, error.message)
            }
        }
        onDocumentCreated("created", document: "fixtures/{id}") { event in _ = event.params["id"] }
        onSchedule("nightly", schedule: "0 3 * * *") { event in _ = event.scheduleTime }
    }
}
