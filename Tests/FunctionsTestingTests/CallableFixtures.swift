import FunctionsRuntime
import FunctionsTesting

struct Charge: Codable, Sendable {
    var requestID: String?
    var amount = 1
}

/// Callable functions, one for each outcome that a caller may see.
struct CallableFixtures: FunctionBundle {
    var functions: [Function] {
        onCall("double") { (request: CallableRequest<Item>) in Item(count: request.data.count * 2) }
        onCall("whoCalls", .consumeAppCheckToken()) { (request: CallableRequest<NoData>) in
            Caller(
                uid: request.auth?.uid, role: request.auth?.token["role"]?.stringValue,
                issuer: request.auth?.token["iss"]?.stringValue, app: request.app?.appID,
                isConsumed: request.app?.alreadyConsumed ?? false, hello: request.headers["X-Hello"])
        }
        onCall("mixed") { (request: CallableRequest<String>) in
            ["text": request.data, "length": request.data.count, "uid": request.auth?.uid, "tags": ["a", 1]]
        }
        onCall("mixedAfterStatements") { (request: CallableRequest<NoData>, transaction: Transaction) in
            let item = transaction.firestore.document("items/a")
            guard try await !transaction.getDocument(item).exists else {
                throw HttpsError(.alreadyExists, "There is one.", details: ["id": item.documentID, "left": 0])
            }
            try transaction.setData(["n": 1], forDocument: item)
            return ["id": item.documentID, "large": Int.max]
        }
        onCall("now") { (request: CallableRequest<NoData>) in Timestamp.now.seconds }
        onCall("appsOnly", .enforceAppCheck()) { (request: CallableRequest<NoData>) in request.app?.appID ?? "" }
        onCall("adminsOnly", .authPolicy { $0?.token["role"] == "admin" }) { (request: CallableRequest<NoData>) in true
        }
        onCall("refuses") { (request: CallableRequest<NoData>) -> Bool in
            throw HttpsError(.outOfRange, "Too far.", details: ["limit": 3])
        }
        onCall("refusesAtLength") { (request: CallableRequest<Int>) -> Bool in
            throw HttpsError(.outOfRange, "Too far.", details: .string(String(repeating: "a", count: request.data)))
        }
        onCall("breaks") { (request: CallableRequest<NoData>) -> Bool in throw Broken(password: "sesame") }
        onCall("cancelsItsWork") { (request: CallableRequest<NoData>) -> Bool in throw CancellationError() }
        onCall("answersTooMuch") { (request: CallableRequest<NoData>) in String(repeating: "a", count: 40_000_000) }
        onCall("answersNoJSON") { (request: CallableRequest<NoData>) in Double.infinity }
        onCall("countdown") { (request: CallableRequest<Int>, response: StreamingResponse<Int>) in
            for number in stride(from: request.data, to: 0, by: -1) { try await response.sendChunk(number) }
            guard request.data < 5 else { throw HttpsError(.outOfRange, "Too many.") }
            return request.acceptsStreaming ? "liftoff" : "unseen"
        }
        onCall("count") { (request: CallableRequest<Int>, transaction: Transaction) in
            let counter = transaction.firestore.document("counters/c")
            let found = try await transaction.getDocument(counter)
            let count = request.data + (found.exists ? try found.get("n", as: Int.self) : 0)
            try transaction.setData(["n": count], forDocument: counter)
            return count
        }
        onCall("charge", .idempotencyKey(\.requestID)) { (request: CallableRequest<Charge>) in
            let charges = request.firestore.collection("charges")
            try await charges.addDocument(data: ["amount": request.data.amount])
            if request.data.amount == 13 { throw HttpsError(.resourceExhausted, "Not covered.") }
            if request.data.amount == 14 { try await Self.untilCancelled() }
            if request.data.amount == 15 { throw Broken(password: "sesame") }
            return try await charges.getDocuments().count
        }
        onCall("chargeAgain", .idempotencyKey(\.requestID), .repeatable(), .timeout(.seconds(10))) {
            (request: CallableRequest<Charge>) in
            let charges = request.firestore.collection("charges")
            try await charges.addDocument(data: ["amount": request.data.amount])
            if try await charges.getDocuments().count == 1 { try await Self.untilCancelled() }
            return try await charges.getDocuments().count
        }
        onCall("chargeByHeader") { (request: CallableRequest<Int>) in
            let charges = request.firestore.collection("charges")
            try await charges.addDocument(data: ["amount": request.data])
            return String(repeating: "a", count: request.data)
        }
        onCall("countByKey", .idempotencyKey(\.?.requestID)) {
            (request: CallableRequest<Charge?>, transaction: Transaction) in
            let counter = transaction.firestore.document("counters/k")
            let found = try await transaction.getDocument(counter)
            let count = found.exists ? try found.get("n", as: Int.self) : 0
            try transaction.setData(["n": count + 1], forDocument: counter)
            return count + 1
        }
        onCall("isOvertaken") { (request: CallableRequest<Int>, transaction: Transaction) in
            if request.data == 1 { try await Overtaking.current?.call() }
            return request.data
        }
        onCall("waits", .timeout(.seconds(10))) { (request: CallableRequest<NoData>) -> Bool in
            try await Self.untilCancelled()
            // The handler still runs after its cancellation, and changes nothing any more.
            do throws(DocumentError) {
                try await request.firestore.document("ends/waits").setData(["n": 1])
                return false
            } catch {
                return request.isCancelled && error.code == .cancelled
            }
        }
        onTaskDispatched("waitsToo", .timeout(.seconds(20))) { (request: TaskRequest<Int>) in
            try await Self.untilCancelled()
        }
        onCall("leavesWork") { (request: CallableRequest<NoData>) in Leftover.work.start(request.firestore) }
        onRequest("echo", .cors(.origins("https://shop.example", "https://*.shop.example"))) { request in
            if request.path == "/refuse" { throw HttpsError(.notFound, "Nothing here.", details: ["path": "refuse"]) }
            if request.path == "/break" { throw Broken(password: "sesame") }
            if request.path == "/odd" { return HTTPResponse(status: 99) }
            if request.path == "/own" {
                return HTTPResponse(headers: ["Vary": "Accept", "Access-Control-Allow-Origin": "*"])
            }
            if request.path == "/header" {
                return HTTPResponse(headers: ["X-Fine": "1", "X-Forged": "a\r\nb", "Connection": "close"])
            }
            if request.path == "/stream" {
                return .stream { writer in
                    try await writer.write("first, ")
                    if request.query["break"] != nil { throw Broken(password: "sesame") }
                    try await writer.write("second")
                }
            }
            if request.method == "PUT" { return try .json(try request.json(as: Item.self), status: 201) }
            return .text("\(request.method) \(request.path) \(request.query["q"] ?? "") \(request.auth?.uid ?? "")")
        }
    }

    struct Item: Codable, Equatable, Sendable {
        var count: Int
    }

    struct Caller: Codable, Equatable, Sendable {
        var uid: String?
        var role: String?
        var issuer: String?
        var app: String?
        var isConsumed = false
        var hello: String?
    }

    private struct Broken: Error {
        var password: String
    }

    private static func untilCancelled() async throws {
        let (never, _) = AsyncStream<Void>.makeStream()
        for await _ in never {}
    }
}

/// A call that is made and ends while the handler of another one runs.
struct Overtaking: Sendable {
    @TaskLocal static var current: Overtaking?

    let call: @Sendable () async throws -> Void
}

/// Work that a handler doesn't await.
final class Leftover: Sendable {
    static let work = Leftover()

    private let began: AsyncStream<Firestore>
    private let begin: AsyncStream<Firestore>.Continuation

    init() { (began, begin) = AsyncStream.makeStream() }

    func start(_ firestore: Firestore) { begin.yield(firestore) }

    /// The handler's unawaited work, once it exists.
    func next() async -> Firestore? {
        var iterator = began.makeAsyncIterator()
        return await iterator.next()
    }
}
