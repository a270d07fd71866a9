import Logging
import MailTransfer
import ServiceLifecycle
import Synchronization
import UserStore

/// Sends the messages that wait in the store: a few of each lane at a time, each until it is accepted, refused, or too late.
///
/// A message is leased for a minute before it is sent. If the host is killed, the next one sends those whose lease has
/// ended: no message is lost, and none is sent twice within a minute.
package final class MessageSender: Service {
    package typealias Sleep = @Sendable (Duration) async throws -> Void

    /// In each lane. Each message may have a thread of its own.
    private static let sentAtOnce = 4
    /// The longest wait between two looks at the clock, in seconds: it may be set meanwhile.
    private static let longestWait: Int64 = 60
    /// Seconds between two log lines about failures.
    private static let pauseOfLines: Int64 = 60

    private struct State {
        var running: [OutgoingMessage.Lane: Int] = [:]
        var loggedAt: Int64?
        var unlogged = 0

        /// How many more messages may be sent in each lane; full lanes are left out.
        func free(of most: Int) -> [OutgoingMessage.Lane: Int] {
            var free: [OutgoingMessage.Lane: Int] = [:]
            for lane in OutgoingMessage.Lane.allCases {
                let left = most - running[lane, default: 0]
                if left > 0 { free[lane] = left }
            }
            return free
        }
    }

    private let queue: MessageQueue
    private let delivery: MessageDelivery
    private let logger: Logger
    private let sleep: Sleep
    private let state = Mutex(State())

    init(_ queue: MessageQueue, _ delivery: MessageDelivery, logger: Logger, sleep: @escaping Sleep) {
        self.queue = queue
        self.delivery = delivery
        self.logger = logger
        self.sleep = sleep
    }

    package func run() async throws { await cancelWhenGracefulShutdown { await self.sendUntilCancelled() } }

    private func sendUntilCancelled() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let free = state.withLock { $0.free(of: Self.sentAtOnce) }
                guard !free.isEmpty else {
                    await queue.wake.wait()
                    continue
                }
                let step: MessageQueue.Step
                do {
                    step = try await queue.take(free)
                } catch {
                    logger.error("messages can't be read", metadata: ["error": "\(error)"])
                    await wait(seconds: 5)
                    continue
                }
                for message in step.givenUp { logGivenUp(message, "it was too late") }
                if step.damaged > 0 {
                    logger.error(
                        "messages aren't sent, because the store is damaged and they can't be read",
                        metadata: ["messages": "\(step.damaged)"])
                }
                for lease in step.leases {
                    state.withLock { $0.running[lease.message.lane, default: 0] += 1 }
                    group.addTask {
                        await self.send(lease)
                        self.state.withLock { $0.running[lease.message.lane, default: 0] -= 1 }
                        self.queue.wake.raise()
                    }
                }
                if !step.isChange {
                    await wait(seconds: step.next.map { min(max(1, $0 - queue.now()), Self.longestWait) })
                }
            }
        }
    }

    /// Returns when the time is over, or the queue has changed.
    ///
    /// - Parameter seconds: nil to wait for the queue alone.
    private func wait(seconds: Int64?) async {
        guard let seconds else { return await queue.wake.wait() }
        await withDiscardingTaskGroup { group in
            group.addTask { [sleep, queue] in
                if (try? await sleep(.seconds(seconds))) != nil { queue.wake.raise() }
            }
            await queue.wake.wait()
            group.cancelAll()
        }
    }

    private func send(_ lease: MessageQueue.Lease) async {
        let outcome: TransferOutcome
        if case .mail(let mail) = lease.content, mail.isDecoy {
            outcome = .accepted
        } else if let transport = delivery.transport(of: lease.content) {
            outcome = await transport.send(lease.message)
        } else {
            outcome = .failed(reason: "functions.json has no way for it any more", mayHaveArrived: false)
        }
        do {
            switch (outcome, try await queue.finish(lease, outcome)) {
            case (.refused(let reason), .givenUp), (.failed(let reason, _), .givenUp):
                logGivenUp(lease.message, reason)
            case (.failed(let reason, _), .retry(let seconds)): logFailure(lease.message, reason, seconds)
            default: logger.debug("message sent", metadata: metadata(of: lease.message))
            }
        } catch {
            logger.error(
                "the outcome of a message can't be stored",
                metadata: metadata(of: lease.message).merging(["error": "\(error)"]) { $1 })
        }
    }

    // MARK: Logging, without addresses, codes and links

    private func logGivenUp(_ message: OutgoingMessage, _ reason: String) {
        logger.error(
            "message given up", metadata: metadata(of: message).merging(["error": "\(reason)"]) { $1 })
    }

    /// Logs a line a minute: when the server is down, all messages fail.
    private func logFailure(_ message: OutgoingMessage, _ reason: String, _ seconds: Int64) {
        let time = queue.now()
        let unlogged = state.withLock { state -> Int? in
            if let last = state.loggedAt, time < last + Self.pauseOfLines {
                state.unlogged += 1
                return nil
            }
            defer { state.unlogged = 0 }
            state.loggedAt = time
            return state.unlogged
        }
        guard let unlogged else { return }
        var metadata = metadata(of: message)
        metadata["error"] = "\(reason)"
        metadata["message.retryInSeconds"] = "\(seconds)"
        if unlogged > 0 { metadata["message.unloggedFailures"] = "\(unlogged)" }
        logger.warning("a message can't be sent yet", metadata: metadata)
    }

    private func metadata(of message: OutgoingMessage) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "message.id": "\(message.idText)", "message.attempts": "\(message.attempts)",
        ]
        switch message.content {
        case .mail(let mail): metadata["message.kind"] = "\(mail.kind.templateName)"
        case .text: metadata["message.kind"] = "\(OutgoingMessage.textKind)"
        case nil: break
        }
        return metadata
    }
}
