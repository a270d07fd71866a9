import NIOHTTP1

/// Lets pages of any origin read the answers: who may read what is for the rules.
enum CORS {
    static func add(to answer: inout HTTPHeaders, _ request: HTTPHeaders) {
        answer.replaceOrAdd(name: "Access-Control-Allow-Origin", value: request.first(name: "Origin") ?? "*")
        answer.add(name: "Access-Control-Expose-Headers", value: "ETag")
        answer.add(name: "Vary", value: "Origin")
    }

    /// The answer to a browser's question before a request.
    static func preflight(_ request: HTTPHeaders) -> HTTPHeaders {
        var answer: HTTPHeaders = [
            "Access-Control-Allow-Methods": "GET, PUT, POST, PATCH, DELETE, OPTIONS", "Access-Control-Max-Age": "3600",
        ]
        let asked = request["Access-Control-Request-Headers"].joined(separator: ", ")
        if !asked.isEmpty { answer.add(name: "Access-Control-Allow-Headers", value: asked) }
        if request.first(name: "Access-Control-Request-Private-Network") == "true" {
            answer.add(name: "Access-Control-Allow-Private-Network", value: "true")
        }
        return answer
    }
}
