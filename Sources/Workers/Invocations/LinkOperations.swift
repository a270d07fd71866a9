import DequeModule
import DocumentModel
import NIOCore
import WorkerProtocol

/// The document operations of one link: they begin in order, while the worker reads its answers and has bytes for them.
///
/// Belongs to the link and its loop.
final class LinkOperations {
    private unowned let link: WorkerLink
    private let account: OperationBytes.Account
    /// Those that haven't begun, undecoded.
    private var waiting: Deque<WorkerOperation> = []
    private var waitingBytes = 0
    /// Whether the first waits for bytes of the account.
    private var waitsForBytes = false
    /// Bytes that the first has received.
    private var received = 0
    private var isDecoding = false
    private var isBeginning = false
    /// What the answers in the link's next write hold, and what they held beyond their own size.
    private var unwritten = 0
    private var excess = 0

    /// When this much waits, the link isn't read.
    private static let maxWaiting = 256 * 1024
    /// What a waiting operation takes besides its request.
    private static let overhead = 128

    init(of link: WorkerLink, _ account: OperationBytes.Account) {
        self.link = link
        self.account = account
    }

    /// Whether so much waits that the link shouldn't be read.
    var isFull: Bool { waitingBytes >= Self.maxWaiting }

    /// Nil if the invocation has ended or runs elsewhere.
    private func invocation(of operation: WorkerOperation) -> Invocation? {
        guard let invocation = link.loop[operation.invocation], invocation.link === link else { return nil }
        return invocation
    }

    // MARK: Their begin

    /// An operation of an invocation that the link carries.
    func arrived(_ request: ByteBuffer, number: UInt32, of invocation: Invocation) {
        guard link.isOpen else { return }
        let refusal =
            request.readableBytes > DocumentRequest.maxBytes
            ? DocumentRequest.tooLarge(request.readableBytes) : invocation.admitOperation()
        // Copied, since it is a part of what was read at once, which may be much more.
        let operation = WorkerOperation(
            refusal == nil ? Array(buffer: request) : [], number: number, of: invocation.id, account: account)
        if let refusal { operation.refuse(refusal) } else { operation.isPending = true }
        // A refusal needs nothing that others wait for.
        if refusal != nil, link.isWritable { refuse(operation) } else { insert(operation, at: waiting.count) }
        begin()
    }

    private func insert(_ operation: WorkerOperation, at index: Int) {
        waiting.insert(operation, at: index)
        waitingBytes += operation.request.count + Self.overhead
    }

    /// Begins what can begin.
    func begin() {
        guard !isBeginning else { return }
        isBeginning = true
        while !isDecoding, !waitsForBytes, link.isWritable, let next = waiting.first {
            guard hasBytes(for: next) else { break }
            waiting.removeFirst()
            waitingBytes -= next.request.count + Self.overhead
            start(next)
        }
        isBeginning = false
        if !isFull { link.readAgain() }
    }

    /// Takes the bytes that an operation needs, or waits for them.
    private func hasBytes(for operation: WorkerOperation) -> Bool {
        let received = received
        self.received = 0
        if received == operation.needed {
            operation.held = received
            return true
        }
        account.give(received)
        guard operation.needed > 0 else { return true }
        guard account.take(operation.needed, orLater: link) else {
            waitsForBytes = true
            return false
        }
        operation.held = operation.needed
        return true
    }

    /// The first may begin.
    func received(_ bytes: Int) {
        waitsForBytes = false
        guard link.isOpen else { return account.give(bytes) }
        received = bytes
        begin()
        // Nothing was left to begin.
        if waiting.isEmpty {
            account.give(received)
            received = 0
        }
    }

    private func start(_ operation: WorkerOperation) {
        if operation.refusal != nil { return refuse(operation) }
        guard let invocation = invocation(of: operation) else { return drop(operation) }
        guard operation.request.count > WorkerOperation.largeRequest else {
            return decoded(operation, Result(catching: operation.decode))
        }
        isDecoding = true
        invocation.decodeLarge { [link] in
            let result = Result(catching: operation.decode)
            link.eventLoop.execute {
                link.operations.isDecoding = false
                link.operations.decoded(operation, result)
                link.operations.begin()
            }
        }
    }

    private func decoded(_ operation: WorkerOperation, _ result: Result<BoundedRequest, BoundedRequest.Refusal>) {
        guard link.isOpen, let invocation = invocation(of: operation) else { return drop(operation) }
        switch result {
        case .failure(.malformed(let failure)):
            drop(operation)
            link.violated(ProtocolViolation("a document operation is malformed: \(failure)"))
        case .failure(.beyondLimit(let error)):
            operation.refuse(error)
            refuse(operation)
        case .success(let decoded):
            guard invocation.isWanted else {
                operation.refuse(Invocation.isOver)
                return refuse(operation)
            }
            guard operation.decoded(decoded) else { return againLater(operation) }
            invocation.perform(decoded.request, operation) { [link] bytes in
                link.operations.performed(operation, bytes)
            }
        }
    }

    /// The operation needs more bytes than it has.
    private func againLater(_ operation: WorkerOperation) {
        operation.release()
        guard link.isOpen, let invocation = invocation(of: operation) else { return drop(operation) }
        if !invocation.isWanted { operation.refuse(Invocation.isOver) }
        // The bytes that the first waits for are its own.
        insert(operation, at: waitsForBytes ? min(1, waiting.count) : 0)
        begin()
    }

    private func refuse(_ operation: WorkerOperation) {
        guard let refusal = operation.refusal, let invocation = invocation(of: operation) else {
            return drop(operation)
        }
        if operation.isPending { invocation.dropOperation() }
        answer(operation, DocumentResponse.failed(refusal).encoded)
    }

    /// Its invocation has ended, or runs elsewhere.
    private func drop(_ operation: WorkerOperation) {
        operation.release()
        if operation.isPending { link.loop[operation.invocation]?.dropOperation() }
    }

    // MARK: Their answers

    private func performed(_ operation: WorkerOperation, _ bytes: [UInt8]?) {
        if let bytes { answer(operation, bytes) } else { againLater(operation) }
    }

    private func answer(_ operation: WorkerOperation, _ bytes: [UInt8]) {
        guard link.isOpen, link.loop[operation.invocation] != nil else { return operation.release() }
        let size = min(bytes.count, operation.held)
        unwritten += size
        excess += operation.held - size
        operation.held = 0
        link.respond(bytes, number: operation.number, to: operation.invocation)
    }

    /// The link writes what has been answered.
    ///
    /// - Returns: the bytes to give back with ``written(_:)``.
    func writing() -> Int {
        account.give(excess)
        defer { (unwritten, excess) = (0, 0) }
        return unwritten
    }

    func written(_ bytes: Int) { account.give(bytes) }

    // MARK: Their end

    /// An invocation is over: its operations don't begin any more.
    func end(_ invocation: UInt64) {
        guard !waiting.isEmpty else { return }
        let isFirst = waiting.first?.invocation == invocation
        for operation in waiting where operation.invocation == invocation {
            waitingBytes -= operation.request.count
            operation.refuse(Invocation.isOver)
        }
        if isFirst, waitsForBytes, account.withdraw(link) { waitsForBytes = false }
        begin()
    }

    /// The link is closed. What is being performed gives its bytes back when it ends.
    func close() {
        if waitsForBytes, account.withdraw(link) { waitsForBytes = false }
        account.give(received + unwritten + excess)
        (received, unwritten, excess) = (0, 0, 0)
        for operation in waiting { drop(operation) }
        waiting = []
        waitingBytes = 0
    }
}
