@testable import IdentityProvider
import MailTransfer
import Synchronization
import Testing
import TextFormats
import UserStore

/// Takes messages in place of a server, with the outcomes that a test asks for; then they are accepted.
final class ScriptedDelivery: MessageTransport {
    private let outcomes: Mutex<[TransferOutcome]>
    private let messages = Mutex<[OutgoingMessage]>([])
    private let arrivals = AsyncStream<OutgoingMessage>.makeStream()

    init(_ outcomes: [TransferOutcome] = []) { self.outcomes = Mutex(outcomes) }

    /// All attempts.
    var sent: [OutgoingMessage] { messages.withLock { $0 } }

    func next() async throws -> OutgoingMessage {
        var iterator = arrivals.stream.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    func send(_ message: OutgoingMessage) async -> TransferOutcome {
        messages.withLock { $0.append(message) }
        arrivals.continuation.yield(message)
        return outcomes.withLock { $0.isEmpty ? .accepted : $0.removeFirst() }
    }
}

extension OutgoingMessage {
    var mail: MailContent? {
        guard case .mail(let mail)? = content else { return nil }
        return mail
    }

    var textMessage: TextContent? {
        guard case .text(let text)? = content else { return nil }
        return text
    }
}

extension MailContent {
    /// A parameter of the link.
    func parameter(_ name: String) -> String? {
        WebAddress(link).flatMap { FormFields.values($0.query.utf8)[name] }
    }
}
