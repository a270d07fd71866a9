import DocumentModel
import NIOCore
import SwiftProtobuf

/// The messages of a call that answers with many: gathered, so that a small answer leaves in one piece, and a large one in
/// few. For one task.
final class GRPCResults {
    /// Bytes from which what was gathered is sent.
    static let partBytes = 32 * 1024

    private let answer: GRPCAnswer
    private var gathered = ByteBuffer()

    init(_ answer: GRPCAnswer) { self.answer = answer }

    /// Sends a message soon, and waits if the client is slow.
    ///
    /// - Throws: `cancelled` once the client has left.
    func send(_ message: some Message) async throws(DocumentError) {
        guard !(ClientCall.current?.cancellation.isCancelled ?? false) else { throw .callerLeft }
        gathered.writeFramed(message)
        guard gathered.readableBytes >= Self.partBytes else { return }
        let part = gathered
        gathered = ByteBuffer()
        if answer.isWritable { answer.send(part) } else { await answer.sendAndWait(part) }
    }

    /// Sends the rest, and ends the call.
    func end() { answer.end(with: gathered.readableBytes > 0 ? gathered : nil) }

    /// Sends the rest, and ends the call with an error.
    func end(_ error: DocumentError) { answer.end(error, with: gathered.readableBytes > 0 ? gathered : nil) }
}
