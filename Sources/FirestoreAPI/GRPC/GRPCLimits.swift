package import Sharing

/// The bounds of gRPC connections and their calls.
package struct GRPCLimits: Hashable, Sendable {
    /// Bytes of one message: a request of 10 MiB, and what protobuf adds to it.
    package var messageBytes = 11 << 20
    /// Seconds in which a message must arrive.
    package var transferSeconds = 60
    package var clients = ClientLimits()

    package init() {}
}
