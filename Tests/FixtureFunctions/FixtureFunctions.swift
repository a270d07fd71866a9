import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

struct Payment: Decodable, Sendable {
    var requestID: String
    var milliseconds: Int
    var exits: Bool
}

struct Transfer: Decodable, Sendable {
    var from: String
    var to: String
    var amount: Int
}

struct Account: Decodable, Sendable {
    var balance: Int
}

struct Found: Encodable, Sendable {
    var id: String
    var limit: Int
}

/// A test bundle: one function of each kind, and one for each way to misbehave.
struct FixtureFunctions: FunctionBundle {
    var functions: [Function] { measured ?? configured ?? everything }

    @FunctionsBuilder private var everything: [Function] {
        wellBehaved
        streaming
        misbehaving
        greedy
        triggers
        misbehavingTriggers
        pacedTriggers
        dispatched
        queues
        eventListeners
        userListeners
        userChecks
        userManagers
        databaseFunctions
        senders
        stamp
        onDocumentCreated("created", document: "fixtures/{id}") { event in _ = event.params["id"] }
        onDocumentWritten("written", document: "fixtures/{id=**}", .retry()) { event in _ = event.data.after.exists }
        onSchedule("nightly", schedule: "0 3 * * *", .timeZone("Asia/Tokyo")) { event in _ = event.scheduleTime }
    }

    // MARK: Well behaved

    @FunctionsBuilder var wellBehaved: [Function] {
        onCall("echo", .region(.asiaNortheast1)) { (request: CallableRequest<JSONValue>) in request.data }
        onCall("nothing") { (request: CallableRequest<NoData>) in }
        onCall("whoami") { (request: CallableRequest<NoData>) in
            Caller(
                uid: request.auth?.uid, claims: request.auth?.token, app: request.app?.appID,
                instanceIDToken: request.instanceIDToken, executionID: request.executionID)
        }
        onCall("typed") { (request: CallableRequest<Typed>) in request.data.items.map(\.quantity).reduce(0, +) }
        onCall("refuse") { (request: CallableRequest<Refusal>) -> NoData in
            let code = FunctionsErrorCode.allCases.first { $0.wireName == request.data.code } ?? .unknown
            throw HttpsError(code, request.data.message, details: request.data.details)
        }
        onCall("appOnce", .consumeAppCheckToken()) { (request: CallableRequest<NoData>) in
            request.app.map { $0.alreadyConsumed ? "again" : "first" } ?? "no app"
        }
        onCall("appOnly", .enforceAppCheck()) { (request: CallableRequest<NoData>) in request.app?.appID ?? "" }
        onCall("members", .authPolicy { $0?.token["member"] == .bool(true) }) { (request: CallableRequest<NoData>) in
            "welcome"
        }
        onCall("slow", .timeout(.seconds(30))) { (request: CallableRequest<Int>) in
            try await Task.sleep(for: .milliseconds(request.data))
            return request.data
        }
        onCall("count") { (request: CallableRequest<String>, transaction: Transaction) in
            let counter = transaction.firestore.collection("counters").document(request.data)
            let value = try await transaction.getDocument(counter).get("value")
            let next = if case .integer(let count)? = value { Int(count) + 1 } else { 1 }
            try transaction.setData(["value": next], forDocument: counter)
            return next
        }
        // For the benchmark, which compares it with PostgreSQL.
        onCall("transfer") { (request: CallableRequest<Transfer>, transaction: Transaction) in
            let accounts = transaction.firestore.collection("accounts")
            let (from, to) = (accounts.document(request.data.from), accounts.document(request.data.to))
            let found = try await transaction.getAll(from, to)
            let (source, target) = (try found[0].data(as: Account.self), try found[1].data(as: Account.self))
            guard source.balance >= request.data.amount else {
                throw HttpsError(.failedPrecondition, "insufficient funds")
            }
            try transaction.updateData(["balance": source.balance - request.data.amount], forDocument: from)
            try transaction.updateData(["balance": target.balance + request.data.amount], forDocument: to)
        }
        onCall("pays", .idempotencyKey(\.requestID)) { (request: CallableRequest<Payment>) in
            let payment = try await request.firestore.collection("payments").addDocument(data: [:])
            if request.data.exits { exit(3) }
            try await Task.sleep(for: .milliseconds(request.data.milliseconds))
            return payment.documentID
        }
        onCall("limited", .callerLimit(.perAddress(1_000_000, per: .seconds(1)))) { (request: CallableRequest<Int>) in
            request.data
        }
        onCall("unlimited") { (request: CallableRequest<Int>) in request.data }
        onCall("thrice", .callerLimit(.perUser(3, per: .seconds(3600)))) { (request: CallableRequest<NoData>) in true }
        onRequest("twicePerAddress", .callerLimit(.perAddress(2, per: .seconds(3600)))) { _ in HTTPResponse(body: []) }
        onCall("oneAtATime", .concurrency(1)) { (request: CallableRequest<Int>) in
            try await Task.sleep(for: .milliseconds(request.data))
            return Int(getpid())
        }
        onCall("environment") { (request: CallableRequest<[String]>) in
            request.data.map { getenv($0).map { String(cString: $0) } }
        }
        onRequest("http", .cors(.any)) { request in
            try .json(
                Seen(
                    method: request.method, path: request.path,
                    query: request.query.map { "\($0.name)=\($0.value)" },
                    body: String(decoding: request.body, as: UTF8.self),
                    header: request.headers["X-Fixture"]),
                status: request.query["status"].flatMap(Int.init) ?? 200)
        }
        onRequest("bytes") { request in
            HTTPResponse(body: [UInt8](repeating: 120, count: request.query["count"].flatMap(Int.init) ?? 0))
        }
    }

    struct Caller: Codable, Sendable {
        var uid: String?
        var claims: JSONValue?
        var app: String?
        var instanceIDToken: String?
        var executionID: String
    }

    struct Typed: Codable, Sendable {
        var items: [Item]

        struct Item: Codable, Sendable { var quantity: Int }
    }

    struct Refusal: Codable, Sendable {
        var code: String
        var message: String
        var details: JSONValue?
    }

    struct Seen: Codable, Sendable {
        var method: String
        var path: String
        var query: [String]
        var body: String
        var header: String?
    }

    // MARK: Streaming

    @FunctionsBuilder var streaming: [Function] {
        onCall("countdown") { (request: CallableRequest<Int>, response: StreamingResponse<Int>) in
            for number in stride(from: request.data, to: 0, by: -1) { try await response.sendChunk(number) }
            return "liftoff"
        }
        onCall("quietStream", .heartbeat(.seconds(1))) {
            (request: CallableRequest<Int>, response: StreamingResponse<Int>) in
            try await Task.sleep(for: .milliseconds(request.data))
            try await response.sendChunk(1)
            return "done"
        }
        onCall("flood") { (request: CallableRequest<Int>, response: StreamingResponse<String>) in
            let chunk = String(repeating: "x", count: 65_536)
            for _ in 0..<request.data { try await response.sendChunk(chunk) }
            return request.data
        }
        onCall("breaks") { (request: CallableRequest<NoData>, response: StreamingResponse<Int>) -> NoData in
            try await response.sendChunk(1)
            throw HttpsError(.dataLoss, "It broke.", details: ["after": 1])
        }
        onCall("waits") { (request: CallableRequest<NoData>, response: StreamingResponse<String>) in
            try await response.sendChunk("waiting")
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                request.logger.info("was cancelled")
                throw error
            }
        }
        onRequest(routing: "routed") { routes in
            for number in 0..<20 {
                routes.get("items\(number)/{id}") { request in
                    try .json(
                        Found(
                            id: try request.parameter("id"), limit: try request.query.value("limit", as: Int.self) ?? 20
                        ))
                }
            }
        }
        onRequest("rows") { request in
            let count = try request.query.value("count", as: Int.self) ?? 0
            return .stream { writer in
                for row in 0..<count { try await writer.write("row \(row)\n") }
            }
        }
        onRequest("brokenStream") { _ in
            .stream { writer in
                try await writer.write("line 1\n")
                throw Secret()
            }
        }
        onRequest("streamed") { _ in
            .stream(headers: ["Content-Type": "text/plain"]) { writer in
                for number in 1...3 { try await writer.write("line \(number)\n") }
            }
        }
    }

    // MARK: Misbehaving

    @FunctionsBuilder var misbehaving: [Function] {
        onCall("trap") { (request: CallableRequest<Int>) -> Int in [1, 2, 3][request.data] }
        onCall("exits") { (request: CallableRequest<Int32>) -> NoData in exit(request.data) }
        onCall("trapsUnderOthers", .concurrency(4)) { (request: CallableRequest<Bool>) in
            if !request.data { try await Task.sleep(for: .seconds(3600)) }
            return [1][request.data ? 1 : 0]
        }
        onCall("fails") { (request: CallableRequest<NoData>) -> NoData in throw Secret() }
        onCall("hangs", .timeout(.seconds(3))) { (request: CallableRequest<NoData>) in
            try await Task.sleep(for: .seconds(3600))
        }
        onCall("ignoresCancellation", .timeout(.seconds(3))) { (request: CallableRequest<NoData>) in
            while true { try? await Task.sleep(for: .seconds(1)) }
        }
        onCall("spins", .timeout(.seconds(3)), .concurrency(4)) { (request: CallableRequest<Bool>) in
            while request.data {}
            return "returned"
        }
        onCall("blocks", .timeout(.seconds(4)), .concurrency(4)) { (request: CallableRequest<Bool>) in
            if request.data { sleep(3600) }
            return "returned"
        }
        onCall("prints", .timeout(.seconds(540))) { (request: CallableRequest<Int>) in
            for number in 0..<request.data { print("line \(number)") }
            request.logger.info("printed", metadata: ["lines": "\(request.data)"])
            return request.data
        }
        onCall("printsAtOnce") { (request: CallableRequest<Int>) in
            let text = [UInt8](repeating: 120, count: request.data - 1) + [10]
            var sent = 0
            while sent < text.count {
                sent += max(0, text[sent...].withUnsafeBytes { write(1, $0.baseAddress, $0.count) })
            }
            return sent
        }
        onCall("says") { (request: CallableRequest<String>) in
            print(request.data)
            return request.executionID
        }
        onCall("logs", .timeout(.seconds(540))) { (request: CallableRequest<Int>) in
            for number in 0..<request.data { request.logger.info("noise", metadata: ["number": "\(number)"]) }
            return request.data
        }
        onCall("logsOrder") { (request: CallableRequest<String>) in
            logger.debug("order", metadata: ["order": ["id": "\(request.data)", "items": ["a", "b"]]])
        }
        onCall("largeAnswer") { (request: CallableRequest<Int>) in String(repeating: "x", count: request.data) }
        onCall("notANumber") { (request: CallableRequest<NoData>) in Double.nan }
        onCall("processID") { (request: CallableRequest<NoData>) in Int(getpid()) }
    }

    struct Secret: Error, CustomStringConvertible {
        var description: String { "the password is swordfish" }
    }
}
