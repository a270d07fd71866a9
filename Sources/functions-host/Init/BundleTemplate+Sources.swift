extension BundleTemplate {
    var models: String {
        """
        import FunctionsRuntime

        /// What a guest sends.
        struct Greeting: Codable, Sendable {
            var name: String
            var text: String
        }

        /// `entries/{id}`
        struct Entry: Codable, Sendable {
            var name: String
            var text: String
            /// Set by the store.
            @ServerTimestamp var time: Timestamp?
        }

        /// A guest has signed: the callable's result, the task and the event.
        struct Signature: Codable, Equatable, Sendable {
            var entryID: String
            var name: String
        }

        """
    }

    var bundle: String {
        """
        import FunctionsRuntime

        @main
        struct \(product): FunctionBundle {
            var functions: [Function] {
                // Clients call it: httpsCallable("sign"). The entry and what follows from it are one commit.
                onCall("sign") { (request: CallableRequest<Greeting>, transaction: Transaction) in
                    guard !request.data.name.isEmpty, !request.data.text.isEmpty else {
                        throw HttpsError(.invalidArgument, "Give your name and a text.")
                    }
                    let entry = transaction.firestore.collection("entries").document()
                    let signature = Signature(entryID: entry.documentID, name: request.data.name)
                    try transaction.setData(
                        from: Entry(name: request.data.name, text: request.data.text), forDocument: entry)
                    try transaction.enqueue(signature, to: "thank")
                    try transaction.publish(
                        try CloudEvent(type: "book.signed", source: "//\(name.text)", json: signature))
                    return signature
                }

                // Handles any HTTP request to its URL or below it.
                onRequest("entries", .cors(.any)) { request in
                    let newest = request.firestore.collection("entries").order(by: "time", descending: true)
                    return try .json(try await newest.limit(to: 20).getDocuments(as: Entry.self).map(\\.data))
                }

                // Runs when such a document is created. It is retried until it succeeds, and takes effect once.
                onDocumentCreated("countEntry", document: "entries/{id}", .retry()) { event, transaction in
                    let book = transaction.firestore.document("stats/book")
                    try transaction.setData(["entries": FieldValue.increment(1)], forDocument: book, merge: true)
                }

                // Runs for each task in the queue with the function's name.
                onTaskDispatched("thank") { (request: TaskRequest<Signature>, transaction: Transaction) in
                    let thanks = transaction.firestore.collection("thanks").document(request.data.entryID)
                    try transaction.setData(["text": "Thank you, \\(request.data.name)!"], forDocument: thanks)
                }

                // Runs for each event of its type.
                onCustomEventPublished("greet", type: "book.signed", .retry()) {
                    (event: CustomEvent<Signature>, transaction: Transaction) in
                    let book = transaction.firestore.document("stats/book")
                    try transaction.setData(["lastGuest": event.data.name], forDocument: book, merge: true)
                }

                // Runs on a schedule.
                onSchedule("tidy", schedule: "every day 03:00", .timeZone("UTC")) { event in
                    let old = event.firestore.collection("entries")
                        .whereField("time", isLessThan: event.scheduleTime - .days(30))
                    let writer = event.firestore.bulkWriter()
                    for entry in try await old.getDocuments() {
                        try await writer.deleteDocument(entry.reference)
                    }
                    for failure in await writer.close() {
                        event.logger.warning("an entry can't be deleted", metadata: ["path": "\\(failure.reference.path)"])
                    }
                }
            }
        }

        """
    }

    var tests: String {
        """
        import FunctionsRuntime
        import FunctionsTesting
        import Testing

        @testable import \(product)

        @Suite struct \(product)Tests {
            private let tester: FunctionsTester

            init() throws { tester = try FunctionsTester(\(product)()) }

            private func sign(_ name: String, _ text: String = "I was here.") async throws -> Signature {
                try await tester.call("sign", Greeting(name: name, text: text))
            }

            private func book() async throws -> [String: Value]? {
                try await tester.firestore.document("stats/book").getDocument().data()
            }

            @Test func signingWritesAnEntry() async throws {
                let signature = try await sign("Ada")
                let entry = tester.firestore.collection("entries").document(signature.entryID)
                #expect(try await entry.getDocument(as: Entry.self).data.text == "I was here.")
            }

            @Test func nothingIsNoEntry() async throws {
                let error = await #expect(throws: HttpsError.self) { try await sign("Ada", "") }
                #expect(error?.code == .invalidArgument)
                #expect(try await tester.firestore.collection("entries").getDocuments().isEmpty)
            }

            @Test func newestEntriesComeFirst() async throws {
                _ = try await sign("Ada")
                // The server's times have milliseconds, and time stands still in tests.
                try await tester.advance(by: .seconds(1))
                _ = try await sign("Bob")
                let answer = try await tester.request("entries")
                #expect(answer.status == 200)
                #expect(try answer.json(as: [Entry].self).map(\\.name) == ["Bob", "Ada"])
            }

            /// The trigger, the task and the event that a signature causes.
            @Test func whatFollowsFromASignature() async throws {
                let signature = try await sign("Ada")
                try await tester.deliverAll()
                #expect(try await book() == ["entries": .integer(1), "lastGuest": .string("Ada")])
                let thanks = tester.firestore.collection("thanks").document(signature.entryID)
                #expect(try await thanks.getDocument()["text"] == .string("Thank you, Ada!"))
            }

            @Test func oldEntriesGo() async throws {
                _ = try await sign("Ada")
                try await tester.advance(by: .seconds(31 * 86_400))
                _ = try await sign("Bob")
                try await tester.run("tidy")
                let names = try await tester.firestore.collection("entries").getDocuments(as: Entry.self).map(\\.data.name)
                #expect(names == ["Bob"])
            }
        }

        """
    }
}
