import DocumentModel
import DocumentStore
import FirestoreMessages
import NIOCore
import Sharing
import SwiftProtobuf

/// A Write stream as a call.
final class WriteCall: GRPCMethod {
    var isSingle: Bool { false }

    private let call: GRPCCall
    private let calls: FirestoreCalls
    private let waiting: WaitingMessages
    private let isEnded = OperationCancellation()
    private let messages: AsyncStream<ByteBuffer>.Continuation

    init(_ call: GRPCCall, _ calls: FirestoreCalls) {
        self.call = call
        self.calls = calls
        let stranger = MemoryBudget.Holder.stranger(call.call.address ?? 0)
        waiting = WaitingMessages(
            calls.limits.clients.write, memory: calls.bodies, address: call.call.address ?? 0
        ) { calls.principals.holder(call.authorization) }
        let (input, messages) = AsyncStream.makeStream(of: ByteBuffer.self)
        self.messages = messages
        let (waiting, isEnded) = (waiting, isEnded)
        Task { [weak self] in
            await ClientCall.$current.withValue(call.call) {
                do throws(DocumentError) {
                    let requester = try await calls.requester(call)
                    var stream = WriteStream(
                        calls.service, as: requester, memory: calls.answers,
                        holder: requester.principal.holder ?? stranger)
                    self?.watch(requester)
                    for await message in input {
                        waiting.remove(message.readableBytes)
                        // What is still here then, the client sends again on another stream.
                        guard !isEnded.isCancelled else { return }
                        let request = try await LargeRequests.decode(message.readableBytes, of: call.call.address) {
                            () throws(DocumentError) in
                            try calls.reader.writeRequest(try GRPCCall.decode(message))
                        }
                        switch try await stream.handle(request) {
                        case .response(let response):
                            await call.answer.sendAndWait(.framed(calls.writer.writeResponse(response)))
                        case .last(let response):
                            call.answer.send(.framed(calls.writer.writeResponse(response)))
                            return call.answer.end()
                        }
                    }
                    guard let refusal = waiting.refusal else { return call.answer.end() }
                    call.answer.end(refusal, closes: true)
                } catch {
                    call.answer.end(error, closes: true)
                }
            }
        }
    }

    /// Ends the stream once the key of its token is revoked, also between two writes. One that is under way is answered:
    /// the client would send it again with another token.
    private func watch(_ requester: Requester) {
        calls.revocable.add(self, of: requester) { [weak self] in
            do throws(DocumentError) { try requester.check() } catch {
                _ = self?.refuse(error)
            }
        }
        if isEnded.isCancelled { calls.revocable.remove(self) }
    }

    deinit { calls.revocable.remove(self) }

    func receive(_ message: ByteBuffer) {
        guard waiting.refusal == nil else { return }
        do throws(DocumentError) {
            try waiting.add(message.readableBytes)
        } catch {
            waiting.refuse(error)
            return messages.finish()
        }
        messages.yield(message)
    }

    /// SDKs take an error for that of the first write that isn't answered, and give it up.
    func refuse(_ error: DocumentError) -> Bool {
        waiting.refuse(error)
        messages.finish()
        return true
    }

    func finish() { messages.finish() }

    func cancel() {
        isEnded.cancel()
        calls.revocable.remove(self)
        call.call.cancellation.cancel()
        messages.finish()
    }

    func isWritable() {}
}

extension MessageReader {
    func writeRequest(_ message: FSWriteRequest) throws(DocumentError) -> WriteStreamRequest {
        try check(database: message.database, isOptional: true)
        return WriteStreamRequest(
            hasDatabase: !message.database.isEmpty, writes: message.writes.isEmpty ? nil : try writes(message.writes))
    }
}

extension MessageWriter {
    func writeResponse(_ response: WriteStreamResponse) -> FSWriteResponse {
        var message = FSWriteResponse()
        message.streamID = response.streamID ?? ""
        message.streamToken = .init(response.token)
        if let result = response.result {
            message.writeResults = result.writeResults.map(writeResult)
            message.commitTime = Self.timestamp(result.commitTime)
        }
        return message
    }
}
