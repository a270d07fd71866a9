import FunctionsRuntime

/// Stands in for the services that the samples use, so that they can be tried without an account anywhere.
@main
struct StandIns: FunctionBundle {
    var functions: [Function] {
        // Streams an answer word by word, as model providers do.
        onRequest("standInModel") { request in
            let question = try request.json(as: JSONValue.self)["messages"]?[0]?["content"]?.stringValue ?? ""
            return .stream(headers: ["Content-Type": "text/event-stream"]) { writer in
                for word in "You asked: \(question)".split(separator: " ") {
                    let part: JSONValue = ["choices": [["delta": ["content": .string("\(word) ")]]]]
                    try await writer.write("data: \(part)\n\n")
                }
                try await writer.write("data: [DONE]\n\n")
            }
        }

        // A mail provider, which recognizes repeated requests.
        onRequest("standInMail") { request in
            guard let key = request.headers["Idempotency-Key"] else {
                return try .json(["error": "Idempotency-Key is missing"], status: 400)
            }
            return try .json(["id": "mail-\(key)"])
        }

        // A token service and Firebase Cloud Messaging.
        onRequest(routing: "standInPush") { routes in
            routes.post("token") { _ in
                try .json(["access_token": JSONValue.string("stand-in"), "expires_in": 3600])
            }
            routes.post("v1/projects/{project}/messages:send") { request in
                guard request.headers["Authorization"] == "Bearer stand-in" else { return HTTPResponse(status: 401) }
                let device = try request.json(as: JSONValue.self)["message"]?["token"]?.stringValue ?? ""
                guard device.hasPrefix("device") else {
                    return try .json(["error": ["details": [["errorCode": "UNREGISTERED"]]]], status: 404)
                }
                try await request.firestore.collection("standInPushes").addDocument(data: ["device": device])
                return try .json(["name": "projects/demo-samples/messages/1"])
            }
        }

        // A bucket.
        onRequest(routing: "standInBucket") { routes in
            routes.put("{path=**}") { request in
                try await request.firestore.collection("standInObjects").addDocument(
                    data: ["path": request.rawPath, "bytes": request.body.count])
                return HTTPResponse(status: 200)
            }
        }
    }
}
