import ControlProtocol
import StorageEngine
import DocumentModel
import DocumentStore
import HTTPTypes
package import Hummingbird
import HummingbirdCore
import NIOCore
import ServiceLifecycle

/// The `data` commands on the running host.
package struct DataTopic: ControlTopic {
    package let service: DataService

    package init(service: DataService) {
        self.service = service
    }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.post("data/:verb") { request, context in
            let verb = context.parameters.get("verb") ?? ""
            let dataRequest: DataRequest
            do throws(DocumentError) {
                dataRequest = try DataWire.request(verb, query: request.uri.query)
            } catch {
                return Response(
                    status: .badRequest, body: .init(byteBuffer: ByteBuffer(bytes: DataWire.line(error))))
            }
            let chunks = RequestChunks(body: request.body)
            return Response(
                status: .ok, headers: [.contentType: "application/x-ndjson"],
                body: ResponseBody { writer in
                    let cancellation = BlockingWork.Cancellation()
                    do {
                        let outcome = try await withGracefulShutdownHandler {
                            try await service.perform(dataRequest, input: chunks, until: cancellation) { event in
                                guard !control.isStopping else { throw DocumentError.hostStops }
                                try await writer.write(ByteBuffer(bytes: DataWire.line(event)))
                            }
                        } onGracefulShutdown: {
                            cancellation.cancel()
                        }
                        if case .export = dataRequest {
                        } else {
                            try await writer.write(ByteBuffer(bytes: DataWire.line(outcome)))
                        }
                    } catch is CancellationError where control.isStopping {
                        try await writer.write(ByteBuffer(bytes: DataWire.line(DocumentError.hostStops)))
                    } catch let error as DocumentError {
                        try await writer.write(ByteBuffer(bytes: DataWire.line(error)))
                    } catch let error where !(error is CancellationError) {
                        // What the command would print if it used the store itself.
                        let failure = DocumentError(.unknown, "\(error)")
                        try await writer.write(ByteBuffer(bytes: DataWire.line(failure)))
                    }
                    try await writer.finish(nil)
                })
        }
    }
}

/// A request's body, chunk by chunk.
private struct RequestChunks: AsyncSequence, Sendable {
    let body: RequestBody

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: RequestBody.AsyncIterator

        mutating func next() async throws -> [UInt8]? { try await base.next().map { Array($0.readableBytesView) } }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: body.makeAsyncIterator()) }
}
