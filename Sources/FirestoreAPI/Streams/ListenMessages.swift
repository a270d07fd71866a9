import DocumentModel
import DocumentStore

/// A target that a Listen client adds, whatever the wire.
struct ListenTargetRequest: Sendable {
    /// Documents that one target may name.
    static let maxDocuments = 1000

    /// 0 for one that the host chooses.
    var id: Int32
    /// Fails with `invalidArgument` for an invalid query or name.
    var target: Result<ListenTarget, DocumentError>
    /// The position to continue from; nil to begin.
    var position: Timestamp?
    /// Whether the target ends once its result is complete.
    var isOnce = false
    /// Whether a client that continues is sent how many documents it has then, to compare with its own. It asks by sending
    /// the number that it has.
    var isCounted = false
    /// Whether the client has something from elsewhere, which the result replaces: its token isn't of this host.
    var isReset = false

    /// - Parameter token: nothing, or what the client was given.
    mutating func resume(from token: [UInt8]) {
        guard !token.isEmpty else { return }
        position = ResumeToken.position(of: token)
        isReset = position == nil
    }
}

extension ListenTargetRequest {
    /// Why a target is refused whose message is too large: clients give it up then. If the stream ended, they would
    /// send it again in each other one, for ever.
    static func tooLarge(_ limit: Int) -> DocumentError {
        .invalidArgument("a message of Listen has more than \(limit) bytes")
    }
}

enum ListenRequest: Sendable {
    case add(ListenTargetRequest)
    case remove(Int32)
}

/// What a Listen client receives, in the terms of Firestore's `ListenResponse`.
enum ListenResponse: Sendable {
    enum TargetChange: Sendable {
        case noChange, add, remove, current, reset
    }

    /// - Parameters:
    ///   - targets: empty stands for all targets.
    ///   - cause: why a target was removed; nil if the client asked for it.
    ///   - position: the state that is complete now; its token continues from it.
    case targets(TargetChange, targets: [Int32], cause: DocumentError?, position: Timestamp?)
    /// The state at a time is complete, but no token continues from it: a target is missing yet.
    case snapshot(Timestamp)
    /// A document that is new or has changed in some targets, and has left others.
    case change(Document, targets: [Int32], removed: [Int32])
    /// A document that didn't exist at a time, which may be before that of the messages around it.
    case delete(DocumentPath, removed: [Int32], at: Timestamp)
    /// A document that exists and has left targets.
    case remove(DocumentPath, removed: [Int32], at: Timestamp)
    /// How many documents a target has: if the client has another number, it begins again.
    case filter(target: Int32, count: Int)

    /// About the bytes that it holds.
    var weight: Int {
        switch self {
        case .change(let document, _, _): document.weight
        case .targets(_, _, let cause?, _): 128 + cause.message.utf8.count
        case .targets, .snapshot, .delete, .remove, .filter: 128
        }
    }
}

/// Resume tokens: the position that a client has reached. They say nothing of the target, which the client sends again, and
/// any host with the same data continues from them.
enum ResumeToken {
    private static let version: UInt8 = 1

    static func bytes(of position: Timestamp) -> [UInt8] {
        let value = UInt64(bitPattern: position.microseconds)
        return [version] + (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64($0))) }
    }

    /// - Returns: nil if it isn't one of this format.
    static func position(of bytes: [UInt8]) -> Timestamp? {
        guard bytes.count == 9, bytes[0] == version else { return nil }
        let value = bytes.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Timestamp(microseconds: Int64(bitPattern: value))
    }
}
