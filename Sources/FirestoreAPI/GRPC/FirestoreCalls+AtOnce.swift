import DocumentModel
import FirestoreMessages
import NIOCore
import SwiftProtobuf

/// Small calls that are answered on the event loop and at most one thread of the store: what passes from thread to thread
/// otherwise costs more than they do.
///
/// Each function returns false if the call asks for more, is invalid, or its token isn't known yet.
extension FirestoreCalls {
    private static let maxDocuments = 10
    private static let maxMessageBytes = 8 * 1024
    /// Documents up to this size together are encoded on the store's thread that has read them.
    private static let maxEncodedBytes = 16 * 1024

    /// A plain get of few documents.
    func getAtOnce(_ message: ByteBuffer, _ call: GRPCCall) -> Bool {
        guard message.readableBytes <= Self.maxMessageBytes,
            let paths = plainGet(message, call),
            // Last: it counts the request, and so does the way of all other calls.
            let requester = principals.known(call.authorization, appCheck: call.appCheck)
        else { return false }
        if let holder = requester.principal.holder { call.call.answer?.identify(holder) }
        service.get(paths, as: requester.principal, in: call.call) { [self] result in
            switch result {
            case .failure(let error): call.answer.end(error)
            case .success(let found):
                let bytes = found.documents.reduce(0) { $0 + ($1?.weight ?? 0) }
                guard bytes > Self.maxEncodedBytes else {
                    return call.answer.end(with: writer.answer(found, to: paths, encoded))
                }
                Task {
                    call.answer.end(with: writer.answer(found, to: paths, encoded))
                    call.call.answer?.release()
                }
            }
        }
        return true
    }

    func commitAtOnce(_ message: ByteBuffer, _ call: GRPCCall) -> Bool {
        guard message.readableBytes <= Self.maxMessageBytes,
            let commit = smallCommit(message, call),
            let requester = principals.known(call.authorization, appCheck: call.appCheck)
        else { return false }
        if let holder = requester.principal.holder { call.call.answer?.identify(holder) }
        do throws(DocumentError) {
            try call.call.hold(commit.writes)
        } catch {
            call.answer.end(error)
            return true
        }
        service.commit(commit.writes, commit.transaction, as: requester.principal, in: call.call) { [writer] result in
            // All commits wait for the thread that calls this.
            call.answer.eventLoop.execute {
                switch result {
                case .failure(let error): call.answer.end(error)
                case .success(let result): call.answer.end(with: .framed(writer.commitResponse(result)))
                }
            }
        }
        return true
    }

    private func smallCommit(
        _ message: ByteBuffer, _ call: GRPCCall
    ) -> (writes: [Write], transaction: TransactionID?)? {
        do throws(DocumentError) {
            if let resource = call.resource { try reader.check(database: resource) }
            return try reader.commitRequest(try GRPCCall.decode(message))
        } catch {
            return nil
        }
    }

    /// The documents of a get without options; nil for any other request.
    private func plainGet(_ message: ByteBuffer, _ call: GRPCCall) -> [DocumentPath]? {
        guard let request: FSBatchGetDocumentsRequest = try? GRPCCall.decode(message),
            (1...Self.maxDocuments).contains(request.documents.count), !request.hasMask,
            request.consistencySelector == nil
        else { return nil }
        do throws(DocumentError) {
            if let resource = call.resource { try reader.check(database: resource) }
            try reader.check(database: request.database)
            return try reader.paths(request.documents)
        } catch {
            return nil
        }
    }
}

extension MessageWriter {
    /// One message for each document.
    fileprivate func answer(
        _ found: DocumentsAnswer, to paths: [DocumentPath], _ encoded: EncodedDocuments
    ) -> ByteBuffer {
        var bytes = ByteBuffer()
        let time = Self.timestamp(found.readTime)
        for (path, document) in zip(paths, found.documents) {
            guard let document else {
                bytes.writeFramed(response(nil, at: path, time))
                continue
            }
            let rest = FSBatchGetDocumentsResponse.with { $0.readTime = time }
            // The field `found`.
            bytes.writeFramed(encoded.message(of: document, encode: self.document), as: 1, beside: rest)
        }
        return bytes
    }
}
