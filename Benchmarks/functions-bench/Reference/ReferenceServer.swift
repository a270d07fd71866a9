import Hummingbird
import Logging
import NIOCore

/// The reference of the callable benchmark: a bare Hummingbird server that returns the same JSON.
///
/// It decodes `{"data":…}` into a Codable struct with Foundation's decoder and returns `{"result":…}`. It has no second
/// process, no tokens, and few routes.
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

    private struct Input: Decodable {
        var data: Item
    }

    private struct Output: ResponseEncodable {
        var result: Item
    }

    private struct Found: ResponseEncodable {
        var id: String
        var limit: Int
    }

    var port: Int

    /// Serves until the process is terminated.
    func run() async throws {
        let router = Router()
        router.post("/echo") { request, context in
            Output(result: try await request.decode(as: Input.self, context: context).data)
        }
        for number in 0..<20 {
            router.get("/items\(number)/:id") { request, context in
                let limit = request.uri.queryParameters.get("limit", as: Int.self) ?? 20
                return Found(id: try context.parameters.require("id"), limit: limit)
            }
        }
        var logger = Logger(label: "reference")
        logger.logLevel = .error
        let application = Application(
            responder: router.buildResponder(),
            configuration: .init(address: .hostname("127.0.0.1", port: port), serverName: nil), logger: logger)
        try await application.runService()
    }
}
