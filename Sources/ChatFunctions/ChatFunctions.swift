import FunctionsRuntime

/// A chat's backend. Clients write their presence and their messages into the Realtime Database; triggers mirror the one and
/// moderate the other, and callables count likes.
@main
struct ChatFunctions: FunctionBundle {
    var defaults: FunctionDefaults { FunctionDefaults(.region(.asiaNortheast1)) }

    var functions: [Function] {
        onValueWritten("mirrorPresence", reference: "status/{uid}", .retry()) { event, transaction in
            let document = event.firestore.collection("status").document(try event.parameter("uid"))
            try await Presence.mirror(event.reference, to: document, in: transaction)
        }
        onValueCreated("moderate", reference: "rooms/{room}/messages/{message}", .retry()) {
            (event: DatabaseEvent<Message>, transaction: Transaction) in
            try await Moderation.moderate(event.data, at: event.reference, in: transaction)
        }
        onCall("like") { (request: CallableRequest<Likes.Request>, transaction: Transaction) in
            try await Likes(request, in: transaction).set(true)
        }
        onCall("unlike") { (request: CallableRequest<Likes.Request>, transaction: Transaction) in
            try await Likes(request, in: transaction).set(false)
        }
    }
}
