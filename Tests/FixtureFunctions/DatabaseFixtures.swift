import FunctionsRuntime

/// Functions of the Realtime Database. What they count is equal in both worlds.
extension FixtureFunctions {
    @FunctionsBuilder var databaseFunctions: [Function] {
        onValueCreated(
            "countMessage", reference: "rooms/{room}/messages/{message}",
            .retry(.exponential(from: .milliseconds(10), to: .seconds(1)))
        ) { (event: DatabaseEvent<String>, transaction: Transaction) in
            let room = try event.parameter("room")
            let count = event.database.reference(withPath: "counts/\(room)")
            try transaction.database.setValue(ServerValue.increment(1), at: count)
            try transaction.setData(
                ["n": FieldValue.increment(1), "last": event.data],
                forDocument: transaction.firestore.document("rooms/\(room)"), merge: true)
        }
        onCall("likePost") { (request: CallableRequest<String>, transaction: Transaction) in
            let likes = request.database.reference(withPath: "likes/\(request.data)")
            let count = (try await transaction.database.getData(likes).value?.intValue ?? 0) + 1
            try transaction.database.setValue(.integer(Int64(count)), at: likes)
            try transaction.setData(
                ["likes": count], forDocument: transaction.firestore.document("liked/\(request.data)"))
            return count
        }
        // Returns once the room has a message more.
        onCall("nextMessage") { (request: CallableRequest<String>) in
            let messages = request.database.reference(withPath: "rooms/\(request.data)/messages")
            for try await snapshot in messages.observe(.childAdded) { return snapshot.value ?? .null }
            return .null
        }
    }
}
