import FunctionsRuntime

/// A user's like of a message.
///
/// The document `rooms/{room}/messages/{message}/likes/{uid}` says who likes it, so that a repeated call counts once. Their
/// number is in the Realtime Database at `rooms/{room}/likes/{message}`, where clients listen to it.
struct Likes {
    struct Request: Codable, Sendable {
        var room: String
        var message: String
    }

    struct Answer: Codable, Equatable, Sendable {
        /// Whether the user likes the message now.
        var liked: Bool
    }

    private let message: DatabaseReference
    private let count: DatabaseReference
    private let like: DocumentReference
    private let transaction: Transaction

    /// - Throws: `unauthenticated` without a user, `invalidArgument` if the room or the message can't be a key.
    init(_ request: CallableRequest<Request>, in transaction: Transaction) throws {
        let uid = try request.requireAuth().uid
        let (room, message) = (request.data.room, request.data.message)
        // A slash would lead to other places.
        guard Self.isKey(room), Self.isKey(message) else {
            throw HttpsError(.invalidArgument, "room and message must be keys.")
        }
        let reference = request.database.reference(withPath: "rooms").child(room)
        self.message = reference.child("messages").child(message)
        count = reference.child("likes").child(message)
        like = transaction.firestore.collection("rooms/\(room)/messages/\(message)/likes").document(uid)
        self.transaction = transaction
    }

    /// The document and the number are one commit. The number is incremented without being read, so that users who like the
    /// same message at the same time don't conflict.
    ///
    /// - Throws: `notFound` if the message doesn't exist.
    func set(_ liked: Bool) async throws -> Answer {
        guard try await transaction.database.getData(message.child("author")).exists() else {
            throw HttpsError(.notFound, "The message doesn't exist.")
        }
        guard try await transaction.getDocument(like).exists != liked else { return Answer(liked: liked) }
        if liked {
            try transaction.setData(["time": FieldValue.serverTimestamp()], forDocument: like)
        } else {
            try transaction.deleteDocument(like)
        }
        try transaction.database.setValue(ServerValue.increment(liked ? 1 : -1), at: count)
        return Answer(liked: liked)
    }

    private static func isKey(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z0-9-][A-Za-z0-9_-]{0,99}/) != nil
    }
}
