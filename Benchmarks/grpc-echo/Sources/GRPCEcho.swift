import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix

/// A reference of the gRPC benchmark: answers every get of Firestore's with the same bytes.
///
/// `grpc-echo PORT ANSWER`, where the file ANSWER has one message with gRPC's prefix of five bytes.
@main
struct GRPCEcho {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let port = Int(arguments[1]) else { throw UsageError() }
        let framed = try Data(contentsOf: URL(fileURLWithPath: arguments[2]))
        let server = GRPCServer(
            transport: .http2NIOPosix(address: .ipv4(host: "127.0.0.1", port: port), transportSecurity: .plaintext),
            services: [Firestore(answer: Array(framed.dropFirst(5)))])
        try await server.serve()
    }

    struct UsageError: Error {}
}

struct Firestore: RegistrableRPCService {
    let answer: [UInt8]

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        router.registerHandler(
            forMethod: MethodDescriptor(
                fullyQualifiedService: "google.firestore.v1.Firestore", method: "BatchGetDocuments"),
            deserializer: PlainBytes(), serializer: PlainBytes()
        ) { request, _ in
            for try await _ in request.messages {}
            return StreamingServerResponse { writer in
                try await writer.write(answer)
                return [:]
            }
        }
    }
}

/// Messages as they are: what encoding costs isn't compared.
struct PlainBytes: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }

    func deserialize<Bytes: GRPCContiguousBytes>(_ serialized: Bytes) throws -> [UInt8] {
        serialized.withUnsafeBytes { Array($0) }
    }
}
