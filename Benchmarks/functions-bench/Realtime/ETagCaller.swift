import NIOCore

/// A client that adds 1 to a number by transactions over REST, as the admin SDKs do: it gets the number with its ETag, and
/// sets it on condition of the ETag; if that has changed, it goes on with the number and the ETag that it is answered.
struct ETagCaller: Caller {
    private let rest: RealtimeREST
    private let path: String
    private let get: ByteBuffer
    private var missing: Int
    private var tries = 0
    /// How many conditional writes each transaction took.
    private let allTries: Collector<Int>

    /// - Parameter transactions: how many it performs.
    init(_ rest: RealtimeREST, path: String, transactions: Int, tries: Collector<Int>) {
        self.rest = rest
        self.path = path
        get = rest.requests.get("/\(path).json", header: "X-Firebase-ETag: true")
        missing = transactions
        allTries = tries
    }

    mutating func next() -> ByteBuffer? {
        guard missing > 0 else { return nil }
        missing -= 1
        tries = 0
        return get
    }

    mutating func received(_ answer: LoadResponse) -> Step {
        if answer.status == 200, tries > 0 {
            allTries.append(tries)
            return .done
        }
        guard answer.status == 200 || answer.status == 412, let etag = answer.etag,
            let number = Int(String(buffer: answer.body))
        else { return .failed(answer.excerpt) }
        tries += 1
        return .ask(rest.requests.put("/\(path).json", "\(number + 1)", header: "if-match: \(etag)"))
    }
}
