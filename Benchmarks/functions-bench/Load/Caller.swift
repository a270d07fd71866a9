import NIOCore
import Synchronization

/// One client of a load: the requests that it sends, and the responses that count as success.
///
/// An operation is one request or a sequence of requests, whose times add up.
protocol Caller: Sendable {
    /// The first request of the next operation; nil if there is none.
    mutating func next() -> ByteBuffer?
    mutating func received(_ answer: LoadResponse) -> Step
}

/// The operation's next step after a response.
enum Step {
    case ask(ByteBuffer)
    case done
    /// The operation has failed, for this reason; the client continues with its next one.
    case failed(String)
}

/// Sends the same requests over and over, one after the other.
struct RepeatingCaller: Caller {
    private let requests: [ByteBuffer]
    private let isGood: @Sendable (LoadResponse) -> Bool
    private var index: Int

    /// - Parameter start: the number of the request to begin with, so that clients don't run in lockstep.
    init(
        _ requests: [ByteBuffer], from start: Int = 0,
        isGood: @escaping @Sendable (LoadResponse) -> Bool = { $0.status == 200 }
    ) {
        self.requests = requests
        self.isGood = isGood
        index = start
    }

    mutating func next() -> ByteBuffer? {
        index += 1
        return requests[index % requests.count]
    }

    mutating func received(_ answer: LoadResponse) -> Step { isGood(answer) ? .done : .failed(answer.excerpt) }
}

/// Sends each request of a list once.
struct ListCaller: Caller {
    private var rest: ArraySlice<ByteBuffer>
    private let accept: @Sendable (LoadResponse) -> Bool

    init(_ requests: [ByteBuffer], accept: @escaping @Sendable (LoadResponse) -> Bool = { $0.status == 200 }) {
        rest = requests[...]
        self.accept = accept
    }

    mutating func next() -> ByteBuffer? { rest.popFirst() }

    mutating func received(_ answer: LoadResponse) -> Step { accept(answer) ? .done : .failed(answer.excerpt) }

    /// Distributes requests among a number of clients.
    static func dealt(
        _ requests: [ByteBuffer], to clients: Int,
        accept: @escaping @Sendable (LoadResponse) -> Bool = { $0.status == 200 }
    ) -> [ListCaller] {
        (0..<clients).map { client in
            ListCaller(
                stride(from: client, to: requests.count, by: clients).map { requests[$0] }, accept: accept)
        }
    }
}

/// Collects values from the responses of several callers.
final class Collector<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }

    func append(_ element: Element) { elements.withLock { $0.append(element) } }
}
