import NIOCore

/// One client of a load: what it asks, and what it takes for a good answer.
///
/// An operation is one request, or several that follow each other; its time is that of all of them.
protocol Caller: Sendable {
    /// The first request of the next operation; nil once there is no more to do.
    mutating func next() -> ByteBuffer?
    mutating func received(_ answer: Answer) -> Step
}

/// What an answer means for the operation.
enum Step {
    case ask(ByteBuffer)
    case done
    /// The operation has failed, and why; the client goes on with its next one.
    case failed(String)
}

/// Asks the same requests over and over, one after the other.
struct RepeatingCaller: Caller {
    private let requests: [ByteBuffer]
    private let isGood: @Sendable (Answer) -> Bool
    private var index: Int

    /// - Parameter start: the number of the request to begin with, so that clients don't go in step.
    init(
        _ requests: [ByteBuffer], from start: Int = 0,
        isGood: @escaping @Sendable (Answer) -> Bool = { $0.status == 200 }
    ) {
        self.requests = requests
        self.isGood = isGood
        index = start
    }

    mutating func next() -> ByteBuffer? {
        index += 1
        return requests[index % requests.count]
    }

    mutating func received(_ answer: Answer) -> Step { isGood(answer) ? .done : .failed(answer.excerpt) }
}

/// Asks each request of a list once.
struct ListCaller: Caller {
    private var rest: ArraySlice<ByteBuffer>
    private let accept: @Sendable (Answer) -> Bool

    init(_ requests: [ByteBuffer], accept: @escaping @Sendable (Answer) -> Bool = { $0.status == 200 }) {
        rest = requests[...]
        self.accept = accept
    }

    mutating func next() -> ByteBuffer? { rest.popFirst() }

    mutating func received(_ answer: Answer) -> Step { accept(answer) ? .done : .failed(answer.excerpt) }

    /// Deals requests out to a number of clients.
    static func dealt(
        _ requests: [ByteBuffer], to clients: Int, accept: @escaping @Sendable (Answer) -> Bool = { $0.status == 200 }
    ) -> [ListCaller] {
        (0..<clients).map { client in
            ListCaller(
                stride(from: client, to: requests.count, by: clients).map { requests[$0] }, accept: accept)
        }
    }
}
