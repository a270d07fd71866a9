import DocumentModel
import WorkerProtocol

/// A worker's document operation, from its frame to its answer, and the bytes that it holds.
///
/// `@unchecked Sendable`: it is used on its link's loop, except while its request is decoded and from the time it is performed
/// until its answer is encoded: then by the one thread that does this.
final class WorkerOperation: AnswerBytes, @unchecked Sendable {
    /// Bytes that are reserved for an answer at first. Most are smaller; one that isn't takes more if there is more, and is
    /// otherwise made again once there is room for it, or for the largest if its size isn't known.
    private static func reserved(_ purpose: DocumentRequest.Purpose) -> Int {
        switch purpose {
        case .read: 256 * 1024
        case .begin: 16 * 1024
        case .write: 64 * 1024
        // What it waits for is bounded elsewhere, and takes its bytes when it comes.
        case .wait: 256
        }
    }

    /// What was observed has room up to this size, since it can't be asked for again.
    private static let smallChanges = 64 * 1024

    /// What an answer has while its operation waits for others: most documents fit.
    private static let waiting = 16 * 1024

    /// A request of more bytes is large: it is decoded elsewhere than on a loop.
    static let largeRequest = 64 * 1024

    let invocation: UInt64
    let number: UInt32
    let account: OperationBytes.Account
    /// The encoded request, as long as it may have to be decoded.
    private(set) var request: [UInt8]
    /// Why it isn't performed; nil if it is.
    private(set) var refusal: DocumentError?
    /// Bytes that it needs to begin.
    private(set) var needed: Int
    /// Bytes that it holds.
    var held = 0
    /// Whether it is one of its invocation's pending operations.
    var isPending = false

    private let purpose: DocumentRequest.Purpose
    /// Bytes that the decoded request takes, and that the answer takes so far.
    private var requestBytes = 0
    private var answerBytes = 0
    /// Whether the answer has found no room.
    private var isShort = false
    /// Whether the answer has one document, so that its size is known where it finds no room.
    private var hasOneDocument = false

    init(_ request: [UInt8], number: UInt32, of invocation: UInt64, account: OperationBytes.Account) {
        self.invocation = invocation
        self.number = number
        self.account = account
        self.request = request
        purpose = DocumentRequest.purpose(of: request)
        let isLargeRead = purpose == .read && request.count > Self.largeRequest
        // Much is read with a large request, and the request isn't kept for another attempt.
        needed =
            isLargeRead ? account.largest : min(request.count + Self.reserved(purpose), account.largest)
    }

    private var hasLargest: Bool { held >= account.largest }

    /// It won't be performed.
    func refuse(_ error: DocumentError) {
        refusal = error
        request = []
        needed = 0
    }

    /// Gives back what it holds.
    func release() {
        account.give(held)
        held = 0
    }

    func decode() throws(BoundedRequest.Refusal) -> BoundedRequest { try BoundedRequest(request) }

    /// Its request was decoded.
    ///
    /// - Returns: whether it may be performed. If not, it needs more bytes and must be decoded again.
    func decoded(_ decoded: BoundedRequest) -> Bool {
        let bytes = decoded.bytes
        (requestBytes, answerBytes, isShort) = (bytes, 0, false)
        switch decoded.request {
        case .get(let paths, _), .beginReading(.documents(let paths)): hasOneDocument = paths.count == 1
        default: break
        }
        let reserved = Self.reserved(purpose)
        if !hasLargest, bytes + reserved / 2 > held {
            let more = min(bytes + reserved, account.largest)
            guard more <= held || account.grow(by: more - held) else {
                needed = more
                return false
            }
            held = max(held, more)
        }
        if purpose == .write || purpose == .wait || hasLargest { request = [] }
        return true
    }

    /// Counts a part of the answer.
    func take(_ bytes: Int) throws(DocumentError) {
        answerBytes += bytes
        guard answerBytes <= account.largestUnencoded else { throw Self.tooLarge(account.largestUnencoded) }
        let missing = requestBytes + answerBytes - held
        guard missing > 0, !hasLargest else { return }
        for more in [max(missing, Self.reserved(purpose)), missing] where account.grow(by: more) {
            held += more
            return
        }
        isShort = true
        throw Self.noRoom
    }

    func waits() {
        let kept = requestBytes + Self.waiting
        // One that holds the largest isn't performed again, and has no request for it.
        guard held > kept, !hasLargest else { return }
        account.give(held - kept)
        held = kept
    }

    /// The encoded answer, for which the operation holds as many bytes as it has.
    ///
    /// - Returns: nil if there is no room for it, and the operation must be performed again: it needs more then.
    func answer(_ response: DocumentResponse) -> [UInt8]? {
        if isShort, case .failed = response {
            return again(with: hasOneDocument ? requestBytes + answerBytes : account.largest)
        }
        let bytes = response.encoded
        if bytes.count <= held { return bytes }
        if account.grow(by: bytes.count - held) {
            held = bytes.count
            return bytes
        }
        switch response {
        case .users where purpose != .read: return bytes
        case .database(.changes) where bytes.count <= Self.smallChanges: return bytes
        // The function must begin another observation.
        case .database(.changes): return DocumentResponse.failed(Self.noRoom).encoded
        case .database where purpose != .read: return bytes
        case .users, .database, .documents, .results, .aggregated, .explained, .partitioned, .collections, .listed,
            .descendants, .completed:
            return again(with: bytes.count)
        // The transaction reads it again.
        case .began(let transaction, _): return DocumentResponse.began(transaction, prefetched: []).encoded
        // As small as their requests.
        case .committed, .written, .rolledBack, .claimed, .settled, .keyReused, .usersRefused, .failed: return bytes
        }
    }

    private func again(with bytes: Int) -> [UInt8]? {
        // The work was done before, as the next attempt to begin the transaction learns.
        if purpose == .write { return DocumentResponse.failed(Self.retry).encoded }
        if hasLargest { return DocumentResponse.failed(Self.tooLarge(account.largest)).encoded }
        needed = min(max(bytes, needed), account.largest)
        return nil
    }

    private static let noRoom = DocumentError(.resourceExhausted, "there is no room for the answer now")

    private static let retry = DocumentError(
        .aborted, "there is no room for the answer that was given before; try the transaction again")

    private static func tooLarge(_ limit: Int) -> DocumentError {
        DocumentError(
            .resourceExhausted,
            "one answer may take \(limit / 1_048_576) MiB of memory, the limit; ask for fewer, page by page")
    }
}
