import Foundation

/// A request to serve, from the command line and the environment.
struct ServingRequest: Sendable {
    /// The port on the command line; nil to use the environment's.
    let port: String?
    let variables: [String: String]

    /// - Returns: Nil if neither requests it.
    init?(_ arguments: [String], variables: [String: String] = ProcessInfo.processInfo.environment) {
        switch arguments {
        case [] where variables["PORT"]?.isEmpty == false, ["serve"]: port = nil
        case let words where words.count == 3 && words.starts(with: ["serve", "--port"]): port = words[2]
        case let words where words.count == 2 && words[0] == "serve" && words[1].hasPrefix("--port="):
            port = String(words[1].dropFirst("--port=".count))
        default: return nil
        }
        self.variables = variables
    }
}
