import NIOCore
import WorkerProtocol

/// The memory of the frame that a link is receiving, if it is a large one: a link that finds none isn't read until
/// others have received theirs.
///
/// `@unchecked Sendable`: every member but the constants is touched on the link's loop only.
final class IncomingFrame: OperationBytesTaker, @unchecked Sendable {
    private unowned let link: WorkerLink
    private let eventLoop: any EventLoop
    private let account: OperationBytes.Account
    private var held = 0
    /// Whether the frame waits for memory.
    private(set) var isWaiting = false
    private var isClosed = false
    private var timeout: Scheduled<Void>?

    /// Smaller frames don't count.
    private static let small = 256 * 1024
    /// A worker that has begun a large frame may keep others from theirs until it has sent all of it.
    private static let maxSeconds: Int64 = 60

    init(of link: WorkerLink, _ account: OperationBytes.Account) {
        self.link = link
        eventLoop = link.eventLoop
        self.account = account
    }

    /// A function has at most one of the largest frames and half of what is free, so workers that send nothing more hold
    /// up their own function first.
    static func budget() -> OperationBytes {
        let largest = Frame.maxLength + 4
        return OperationBytes(worker: largest, all: 4 * largest)
    }

    /// A frame of this length isn't whole yet.
    func begin(_ length: Int) {
        guard length > Self.small, held == 0, !isWaiting, !isClosed else { return }
        if account.take(length, orLater: self) { hold(length) } else { isWaiting = true }
    }

    /// The memory that the frame waits for. Called on any thread. A link that isn't read asks again when it is.
    func received(_ bytes: Int) {
        eventLoop.execute { [self] in
            isWaiting = false
            guard !isClosed, link.mayRead else { return account.give(bytes) }
            hold(bytes)
            link.readAgain()
        }
    }

    private func hold(_ bytes: Int) {
        held = bytes
        watch()
    }

    private func watch() {
        timeout = eventLoop.scheduleTask(in: .seconds(Self.maxSeconds)) { [self] in
            // The host may have read nothing meanwhile.
            guard !link.isPaused else { return watch() }
            link.violated(ProtocolViolation("a frame hasn't arrived within \(Self.maxSeconds) s"))
        }
    }

    /// The frame is whole: what it holds from now on counts as what it is.
    func arrived() {
        guard held > 0 else { return }
        timeout?.cancel()
        timeout = nil
        let bytes = held
        held = 0
        account.give(bytes)
    }

    /// The link is closed.
    func close() {
        isClosed = true
        if isWaiting, account.withdraw(self) { isWaiting = false }
        arrived()
    }
}
