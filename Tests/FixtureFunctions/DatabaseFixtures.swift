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
        // However often it is sent with one name, it counts once.
        onCall("likeOnce") { (request: CallableRequest<String>, transaction: Transaction) in
            let given = transaction.firestore.document("given/\(request.data)")
            guard try await !transaction.getDocument(given).exists else { return false }
            let likes = request.database.reference(withPath: "given")
            let count = (try await transaction.database.getData(likes).value?.intValue ?? 0) + 1
            try transaction.database.setValue(.integer(Int64(count)), at: likes)
            try transaction.setData(["n": count], forDocument: transaction.firestore.document("totals/given"))
            try transaction.setData(["n": count], forDocument: given)
            return true
        }
        // For the benchmark: two values that each caller has of its own are read and written.
        onCall("moveDocuments") { (request: CallableRequest<String>, transaction: Transaction) in
            let (from, to) = (
                transaction.firestore.document("accounts/\(request.data)-a"),
                transaction.firestore.document("accounts/\(request.data)-b")
            )
            let (a, b) = (try await transaction.getDocument(from), try await transaction.getDocument(to))
            try transaction.setData(["n": (a.n?.intValue ?? 0) - 1], forDocument: from)
            try transaction.setData(["n": (b.n?.intValue ?? 0) + 1], forDocument: to)
        }
        onCall("moveBoth") { (request: CallableRequest<String>, transaction: Transaction) in
            let from = transaction.firestore.document("accounts/\(request.data)-a")
            let to = request.database.reference(withPath: "accounts/\(request.data)/n")
            let (a, b) = (try await transaction.getDocument(from), try await transaction.database.getData(to))
            try transaction.setData(["n": (a.n?.intValue ?? 0) - 1], forDocument: from)
            try transaction.database.setValue(.integer(Int64((b.value?.intValue ?? 0) + 1)), at: to)
        }
        // Returns once the room has a message more.
        onCall("nextMessage") { (request: CallableRequest<String>) in
            let messages = request.database.reference(withPath: "rooms/\(request.data)/messages")
            for try await snapshot in messages.observe(.childAdded) { return snapshot.value ?? .null }
            return .null
        }
    }
}
