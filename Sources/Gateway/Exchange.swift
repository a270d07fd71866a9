import NIOCore
import NIOHTTP1
import WorkerProtocol

/// A request with the function it is for.
struct GatewayRequest {
    let head: HTTPRequestHead
    let body: ByteBuffer
    let match: RouteTable.Match
    /// The client's address, from the connection and from trusted proxies.
    let address: IPAddress?
}

/// One request and its answer.
protocol Exchange: AnyObject {
    func begin()
    /// The connection is closed: the answer can't be sent any more.
    func clientLeft()
}
