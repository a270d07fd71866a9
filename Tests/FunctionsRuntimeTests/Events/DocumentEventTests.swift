import DocumentModel
import FunctionManifest
import WorkerProtocol
import FunctionsRuntime
import FunctionsRuntime
import Testing

@Suite struct DocumentEventTests {
    private struct Person: Codable, Sendable, Equatable {
        var name: String
        var age: Int
    }

    @Test func handlerGetsWhatTheEventTells() async throws {
        let kept = Kept<DocumentEvent<DocumentSnapshot>>()
        let function = onDocumentCreated("f", document: "users/{uid}/{rest=**}/orders/{id}", .region(.europeWest1)) {
            kept.keep($0)
        }
        try await function.deliver(.of(try change("users/ada/a/b/orders/o1", after: ["n": 1])), retryCount: 2)
        let event = try #require(kept.all.first)
        #expect(event.id == Event.id.description)
        #expect(event.deliveryID == event.id)
        #expect(event.time == Event.time)
        #expect(event.attempt == 3)
        #expect(event.document == "users/ada/a/b/orders/o1")
        #expect(event.params == ["uid": "ada", "rest": "a/b", "id": "o1"])
        #expect(event.data.data() == ["n": 1])
        #expect(event.updateMask == nil)
        #expect(event.authType == .appUser)
        #expect(event.authID == "ada")
        #expect(event.type == "google.cloud.firestore.document.v1.created")
        #expect(event.source == "//firestore.googleapis.com/projects/demo-test/databases/(default)")
        #expect(event.subject == "documents/users/ada/a/b/orders/o1")
        #expect(event.project == "demo-test")
        #expect(event.location == "europe-west1")
        #expect(event.database == "(default)")
        #expect(event.namespace == "(default)")
        #expect(event.executionID == "run")
    }

    @Test func typeTellsOfTheAuthContextWhereItIsAskedFor() async throws {
        let kept = Kept<String>()
        let function = onDocumentDeleted("f", document: "users/{uid}", .withAuthContext()) { kept.keep($0.type) }
        try await function.deliver(.of(try change("users/ada", before: [:])))
        #expect(kept.all == ["google.cloud.firestore.document.v1.deleted.withAuthContext"])
    }

    struct Mask: Sendable, CustomTestStringConvertible {
        var before: [String: Value]
        var after: [String: Value]
        var fields: [String]
        var testDescription: String { fields.joined(separator: ",") }
    }

    @Test(arguments: [
        Mask(before: ["a": 1, "b": 2], after: ["a": 1, "b": 3], fields: ["b"]),
        Mask(before: ["a": 1], after: ["b": 1], fields: ["a", "b"]),
        Mask(before: ["a": 1], after: ["a": .double(1)], fields: ["a"]),
        Mask(
            before: ["m": .map(["x": 1, "y": .map(["z": 1])])], after: ["m": .map(["x": 1, "y": .map(["z": 2])])],
            fields: ["m.y.z"]),
        Mask(before: ["m": .map(["x": 1])], after: ["m": 1], fields: ["m"]),
        Mask(before: ["m": .map(["x": 1])], after: ["m": .map([:])], fields: ["m"]),
        Mask(before: ["m": .map(["a b": 1, "k": 1])], after: ["m": .map(["k": 1])], fields: ["m.`a b`"]),
        Mask(before: ["l": .array([1])], after: ["l": .array([1, 2])], fields: ["l"]),
        Mask(before: ["v": .vector([1])], after: ["v": .vector([2])], fields: ["v"]),
    ])
    func updateMaskNamesWhatDiffers(_ mask: Mask) async throws {
        let kept = Kept<[String]?>()
        let function = onDocumentUpdated("f", document: "users/{uid}") { event in
            kept.keep(event.updateMask?.map(\.description))
        }
        try await function.deliver(.of(try change("users/ada", before: mask.before, after: mask.after)))
        #expect(kept.all == [mask.fields])
    }

    @Test func typedFormsAreDecoded() async throws {
        let (created, updated) = (Kept<FunctionsRuntime.Document<Person>>(), Kept<[Person]>())
        let written = Kept<[Person?]>()
        let ada: [String: Value] = ["name": .string("Ada"), "age": 36]
        let older: [String: Value] = ["name": .string("Ada"), "age": 37]
        try await onDocumentCreated("f", document: "users/{u}") {
            (event: DocumentEvent<FunctionsRuntime.Document<Person>>) in
            created.keep(event.data)
        }.deliver(.of(try change("users/ada", after: ada)))
        try await onDocumentUpdated("f", document: "users/{u}") {
            (event: DocumentEvent<Change<FunctionsRuntime.Document<Person>>>) in
            updated.keep([event.data.before.data, event.data.after.data])
        }.deliver(.of(try change("users/ada", before: ada, after: older)))
        let onWritten = onDocumentWritten("f", document: "users/{u}") {
            (event: DocumentEvent<Change<FunctionsRuntime.Document<Person>?>>) in
            written.keep([event.data.before?.data, event.data.after?.data])
        }
        try await onWritten.deliver(.of(try change("users/ada", after: ada)))
        try await onWritten.deliver(.of(try change("users/ada", before: ada)))
        #expect(created.all.map(\.data) == [Person(name: "Ada", age: 36)])
        #expect(created.all.map(\.id) == ["ada"])
        #expect(updated.all == [[Person(name: "Ada", age: 36), Person(name: "Ada", age: 37)]])
        #expect(written.all == [[nil, Person(name: "Ada", age: 36)], [Person(name: "Ada", age: 36), nil]])
    }

    @Test func documentThatDoesNotFitFailsWithItsPlaceAndTheHandlerDoesNotRun() async throws {
        let kept = Kept<Bool>()
        let function = onDocumentCreated("f", document: "users/{u}") {
            (event: DocumentEvent<FunctionsRuntime.Document<Person>>) in
            kept.keep(true)
        }
        let failure = await failure {
            try await function.deliver(.of(try change("users/ada", after: ["name": .string("Ada"), "age": .null])))
        }
        #expect(failure?.message == "users/ada.age: expected an integer, found null")
        #expect(failure?.code == .internal)
        #expect(kept.all.isEmpty)
    }

    @Test func whatTheFunctionIsNotForIsTold() async throws {
        let function = onDocumentDeleted("f", document: "users/{uid}") { _ in }
        let contents: [(Event.Content, String)] = [
            (try change("users/ada", after: [:]), "is a creation of users/ada"),
            (try change("users/ada", before: [:], after: ["n": 1]), "is an update of users/ada"),
            (try change("people/ada", before: [:]), "is a deletion of people/ada"),
            (.task(TaskDraft(queue: "q", body: [])), "is a task for q"),
            (.schedule(job: "j", isManual: true), "is a run of j"),
            (.custom(CloudEvent(type: "t", source: "s")), "is an event of type t"),
        ]
        for (content, reason) in contents {
            let failure = await failure { try await function.deliver(.of(content)) }
            #expect(
                failure?.message
                    == "the event \(Event.id) \(reason), but the function handles documents users/{uid} deleted")
        }
    }

    @Test func bodyThatIsNoEventIsTold() async throws {
        let function = onDocumentCreated("f", document: "users/{uid}") { _ in }
        let body = DeliveryAttempt(event: Event.of(try change("users/ada", after: ["n": 1])).encoded, retryCount: 0)
            .encoded
        for length in 0..<body.count {
            let failure = await failure { try await function.deliver(Array(body.prefix(length))) }
            #expect(failure?.message.hasPrefix("the invocation's body isn't an event: ") ?? false, "\(length)")
        }
    }

    @Test func transactionalHandlerEndsTheDeliveryWithItsCommit() async throws {
        let transport = ScriptedTransport([.began(1), .committed(1)])
        let function = onDocumentCreated("f", document: "users/{u}") { (event, transaction) in
            try transaction.deleteDocument(event.reference)
        }
        #expect(function.manifest.isTransactional)
        try await function.deliver(.of(try change("users/ada", after: [:])), over: transport)
        let write = Write(path: try DocumentPath("users/ada"), operation: .delete)
        #expect(
            transport.requests == [
                .begin(.readWrite(retrying: nil)),
                .commit([write], transaction: TransactionID(rawValue: 1), completing: []),
            ])
    }

    @Test func failedTransactionalHandlerCommitsNothing() async throws {
        let transport = ScriptedTransport([.began(1)])
        let function = onDocumentCreated("f", document: "users/{u}") { (event, transaction) in
            try transaction.deleteDocument(event.reference)
            throw HttpsError(.unavailable, "Not today.")
        }
        let failure = await failure {
            try await function.deliver(.of(try change("users/ada", after: [:])), over: transport)
        }
        #expect(failure?.code == .unavailable)
        #expect(failure?.message == "Not today.")
        #expect(transport.requests.last == .rollback(TransactionID(rawValue: 1)))
    }

    @Test func longReasonsAreCut() async throws {
        let function = onDocumentCreated("f", document: "users/{u}") { _ in
            throw HttpsError(.dataLoss, String(repeating: "ä", count: 100_000))
        }
        let failure = await failure { try await function.deliver(.of(try change("users/ada", after: [:]))) }
        #expect(try #require(failure).message.utf8.count < 4200)
    }
}
