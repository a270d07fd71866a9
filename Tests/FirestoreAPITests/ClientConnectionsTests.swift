import DocumentModel
@testable import FirestoreAPI
import NIOCore
import NIOEmbedded
import Testing

/// What ends when a client of the firestore port leaves.
@Suite struct ClientConnectionsTests {
    private func connected(_ connections: ClientConnections) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: connections.makeHandler())
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        return channel
    }

    @Test func theRequestOfAClientThatLeavesIsCancelled() async throws {
        let connections = ClientConnections()
        let (leaving, staying) = (try connected(connections), try connected(connections))
        let (first, second) = (OperationCancellation(), OperationCancellation())
        await connections.during(first, on: leaving) {
            await connections.during(second, on: staying) {
                #expect(!first.isCancelled)
                leaving.close(promise: nil)
                #expect(first.isCancelled)
                #expect(!second.isCancelled)
            }
        }
        // One that was answered before isn't cancelled any more.
        staying.close(promise: nil)
        #expect(!second.isCancelled)
    }

    @Test func aClientThatWillSendNothingMoreHasLeft() async throws {
        let connections = ClientConnections()
        let channel = try connected(connections)
        let cancellation = OperationCancellation()
        await connections.during(cancellation, on: channel) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            #expect(cancellation.isCancelled)
        }
        let late = OperationCancellation()
        await connections.during(late, on: channel) { #expect(late.isCancelled) }
    }
}
