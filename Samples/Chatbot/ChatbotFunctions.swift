import FunctionsHTTPClient
import FunctionsRuntime

/// The endpoint of a service with OpenAI's chat completions, which most model providers and local servers have.
let modelURL = defineString("MODEL_URL", default: "https://api.openai.com/v1/chat/completions")
let modelName = defineString("MODEL_NAME", default: "gpt-4o-mini")
let modelKey = defineSecret("MODEL_KEY")

/// Passes on what a model writes, as it writes it. The key stays on the server.
@main
struct ChatbotFunctions: FunctionBundle {
    var params: [ParamDefinition] {
        modelURL
        modelName
    }

    var functions: [Function] {
        onCall(
            "ask", .secrets(modelKey), .timeout(.minutes(5)),
            .callerLimit(.perUser(10, per: .minutes(1)), .perAddress(30, per: .minutes(1)))
        ) { (request: CallableRequest<Question>, response: StreamingResponse<String>) in
            let user = try request.requireAuth()
            // Anonymous users are as many as they like: limit addresses, too, or ask for an account.
            guard request.data.text.utf8.count <= 4000 else {
                throw HttpsError(.invalidArgument, "A question has at most 4000 bytes.")
            }
            let answer = try await fetch(
                modelURL.value, headers: ["Authorization": "Bearer \(modelKey.value)"],
                body: .json(
                    Prompt(model: modelName.value, user: user.uid, messages: [.init(content: request.data.text)])))
            guard answer.status != 429 else {
                throw HttpsError(.resourceExhausted, "The chatbot is busy. Ask again in a minute.")
            }
            var text = ""
            for try await event in try await answer.requireSuccess().events {
                if event.data == "[DONE]" { return text }
                guard let part = try event.json(as: Completion.self).choices.first?.delta.content else { continue }
                text += part
                // Suspends while the client reads slowly; throws when it has left, which ends the request to the model.
                try await response.sendChunk(part)
            }
            throw HttpsError(.unavailable, "The chatbot was cut off. Ask again.")
        }
    }
}

struct Question: Codable, Sendable {
    var text: String
}

private struct Prompt: Encodable, Sendable {
    struct Message: Encodable, Sendable {
        var role = "user"
        var content: String
    }

    var model: String
    var stream = true
    var user: String
    var messages: [Message]
}

private struct Completion: Decodable {
    struct Choice: Decodable { var delta: Delta }
    struct Delta: Decodable { var content: String? }

    var choices: [Choice]
}
