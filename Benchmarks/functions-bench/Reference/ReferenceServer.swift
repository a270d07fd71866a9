import Hummingbird
import Logging
import NIOCore

/// What a callable is measured against: a bare Hummingbird server that answers the same JSON.
///
/// It decodes `{"data":…}` into a Codable struct with Foundation's decoder and answers `{"result":…}`. There is no
/// second process, no token and no routing worth the name.
struct ReferenceServer {
    /// The object that the callable load sends.
    struct Item: Codable, Sendable {
        var id: String
        var name: String
        var quantity: Int
        var price: Int
        var tags: [String]
        var gift: Bool
    }

    private struct Question: Decodable {
        var data: Item
    }

    private struct Answer: ResponseEncodable {
        var result: Item
    }

    var port: Int

    /// Serves until the process is told to end.
    func run() async throws {
        let router = Router()
        router.post("/echo") { request, context in
            Answer(result: try await request.decode(as: Question.self, context: context).data)
        }
        var logger = Logger(label: "reference")
        logger.logLevel = .error
        let application = Application(
            responder: router.buildResponder(),
            configuration: .init(address: .hostname("127.0.0.1", port: port), serverName: nil), logger: logger)
        try await application.runService()
    }
}
