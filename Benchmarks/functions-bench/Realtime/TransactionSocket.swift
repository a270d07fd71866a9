import NIOCore
import RealtimeHashing
import RealtimeModel

/// A client that adds 1 to a number by transactions, one after the other, as SDKs do: it listens to the path, writes on
/// condition of the hash of what it has, and writes again what follows from what it has received, if that was stale.
///
/// Must be used on its socket's event loop.
final class TransactionSocket {
    /// What a client has done.
    struct Record: Sendable {
        var transactions = 0
        /// Conditional writes, and the most that one transaction took.
        var tries = 0
        var mostTries = 0
        /// From the first attempt to the answer.
        var report = LoadReport()
    }

    private let socket: RealtimeSocket
    private let path: String
    /// Where it listens: at the path, or above.
    private let listened: String
    /// How a message with the path's value begins.
    private let ownPush: [UInt8]
    private let transactions: Int
    private let end: EventLoopPromise<Record>
    private var record = Record()
    /// What it has received last.
    private var value = 0
    private var begun: NIODeadline = .now()
    private var tries = 0

    /// - Parameters:
    ///   - path: of a number, which is 0.
    ///   - transactions: how many it performs.
    init(
        _ socket: RealtimeSocket, path: String, listeningTo listened: String, transactions: Int,
        end: EventLoopPromise<Record>
    ) {
        self.socket = socket
        self.path = path
        self.listened = listened
        ownPush = Array(#"{"t":"d","d":{"a":"d","b":{"p":"\#(path)","d":"#.utf8)
        self.transactions = transactions
        self.end = end
    }

    /// Listens.
    ///
    /// - Parameter listening: succeeded once the first data have come.
    func listen(_ listening: EventLoopPromise<Void>) {
        socket.onEnd = { reason in
            listening.fail(LoadError(reason))
            self.end.fail(LoadError(reason))
        }
        socket.onPush = { self.received($0) }
        socket.request("q", #"{"p":"/\#(listened)","h":""}"#) { answer in
            if answer.status == "ok" { listening.succeed() } else { listening.fail(LoadError(answer.status)) }
        }
    }

    func begin() {
        tries = 0
        begun = .now()
        attempt()
    }

    private func attempt() {
        tries += 1
        let hash = RealtimeNode(.number(RealtimeNumber(Int64(value)))).hash
        socket.request("p", #"{"p":"/\#(path)","d":\#(value + 1),"h":"\#(hash)"}"#) { answer in
            switch answer.status {
            case "ok": self.succeeded()
            case "datastale": self.attempt()
            default: self.fail(String(buffer: answer.message))
            }
        }
    }

    private func succeeded() {
        record.transactions += 1
        record.tries += tries
        record.mostTries = max(record.mostTries, tries)
        record.report.add(latency: .nanoseconds((NIODeadline.now() - begun).nanoseconds))
        if record.transactions == transactions { end.succeed(record) } else { begin() }
    }

    private func fail(_ reason: String) { end.fail(LoadError(reason)) }

    /// Reads the number in `…,"d":12}}}`.
    private func received(_ message: ByteBuffer) {
        let text = message.readableBytesView
        guard text.starts(with: ownPush) else { return }
        guard let number = Int(String(decoding: text.dropFirst(ownPush.count).dropLast(3), as: UTF8.self)) else {
            return fail("a push without a number: \(String(buffer: message))")
        }
        value = number
    }
}
