import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Testing

@Suite struct ReferenceTests {
    private let firestore = Firestore(transport: ScriptedTransport())

    @Test func placesKnowTheirNeighbours() {
        let order = firestore.collection("users").document("ada").collection("orders").document("o1")
        #expect(order.path == "users/ada/orders/o1")
        #expect(order.documentID == "o1")
        #expect(order.parent.path == "users/ada/orders")
        #expect(order.parent.collectionID == "orders")
        #expect(order.parent.parent?.path == "users/ada")
        #expect(order.parent.parent?.parent.parent == nil)
        #expect(order == firestore.document("users/ada/orders/o1"))
        #expect(firestore.document("u/caf\u{e9}") != firestore.document("u/cafe\u{301}"))
    }

    /// An id may come from a client, and must not lead elsewhere.
    @Test(arguments: ["a/b/c", "a/b", "../x"]) func anIDHasNoSlash(id: String) async {
        let reference = firestore.collection("items").document(id)
        let error = await #expect(throws: DocumentError.self) { try await reference.getDocument() }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message == "a document's id must not contain a slash, and \"\(id)\" does")
    }

    @Test(arguments: ["a/b/c", "a/b"]) func anIDWithASlashLeadsNowhereBelowEither(id: String) async {
        let item = firestore.collection("items").document(id)
        let parts = item.collection("parts")
        let errors = [
            await #expect(throws: DocumentError.self) { try await parts.document("p").getDocument() },
            await #expect(throws: DocumentError.self) { try await parts.document("p/q").getDocument() },
            await #expect(throws: DocumentError.self) { try await parts.getDocuments() },
            await #expect(throws: DocumentError.self) { try await parts.addDocument(data: [:]) },
            await #expect(throws: DocumentError.self) { try await parts.parent?.delete() },
            await #expect(throws: DocumentError.self) { try await item.parent.getDocuments() },
            await #expect(throws: DocumentError.self) { try await item.listCollections() },
            await #expect(throws: DocumentError.self) { try await firestore.recursiveDelete(parts) },
            await #expect(throws: DocumentError.self) { try await parts.listDocuments() },
        ]
        for error in errors {
            #expect(error?.message == "a document's id must not contain a slash, and \"\(id)\" does")
        }
    }

    @Test func documentsAreListedPageByPage() async throws {
        let transport = ScriptedTransport([
            .listed(["a", "b"], next: "b"), .listed([], next: "é"), .listed(["c"], next: nil),
        ])
        let items = Firestore(transport: transport).collection("shops/s/items")
        #expect(try await items.listDocuments() == ["a", "b", "c"].map { items.document($0) })
        let collection = try CollectionPath("shops/s/items")
        #expect(
            transport.requests == [nil, "b", "é"].map { .list(DocumentListing(collection, token: $0, limit: 1000)) })
    }

    @Test func anAnswerOfAnotherKindToAListingIsAnError() async {
        let items = Firestore(transport: ScriptedTransport([.collections(["a"])])).collection("items")
        let error = await #expect(throws: DocumentError.self) { try await items.listDocuments() }
        #expect(error?.message == "the store responded to listDocuments with 1 collections")
    }

    @Test func ownIDsAreTwentyLettersAndDigits() throws {
        let ids = (0..<1000).map { _ in firestore.collection("a").document().documentID }
        #expect(Set(ids).count == ids.count)
        for id in ids {
            #expect(id.utf8.count == 20)
            #expect(id.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
        }
    }

    @Test func addedDocumentMustBeNew() async throws {
        let transport = ScriptedTransport([.committed(1)])
        let added = try await Firestore(transport: transport).collection("a").addDocument(data: ["x": 1])
        guard case .commit(let writes, _, _, _)? = transport.requests.first else {
            Issue.record("nothing was committed")
            return
        }
        #expect(writes.map(\.path.string) == [added.path])
        #expect(writes.map(\.precondition) == [.exists(false)])
    }

    struct User: Codable, Sendable, Equatable {
        @DocumentID var id: String?
        var name: String
    }

    @Test func documentIsReadAsTheAuthorsType() async throws {
        let transport = ScriptedTransport([
            .documents([try stored("users/ada", ["name": .string("Ada")])]), .documents([nil]),
            .documents([try stored("users/ada", ["name": 1])]),
        ])
        let reference = Firestore(transport: transport).document("users/ada")
        let user = try await reference.getDocument(as: User.self)
        #expect(user.id == "ada" && user.ref == reference && user.updateTime == DocumentResponse.time)
        #expect(user.data == User(id: "ada", name: "Ada"))
        let missing = await #expect(throws: DocumentError.self) { try await reference.getDocument(as: User.self) }
        #expect(missing?.description == "NOT_FOUND: the document users/ada doesn't exist")
        let wrong = await #expect(throws: DecodingError.self) { try await reference.getDocument(as: User.self) }
        #expect(wrong?.explanation == "users/ada.name: expected a string, found an integer")
    }

    @Test func fieldsAreReadByTheirPaths() throws {
        let snapshot = DocumentSnapshot(
            try stored("users/ada", ["a": .map(["b": 3, "c": .null]), "x.y": .string("z")]), firestore: firestore)
        #expect(snapshot["a.b"] == 3)
        #expect(snapshot.get("`x.y`") == .string("z"))
        #expect(snapshot["x.y"] == nil)
        #expect(snapshot["a..b"] == nil)
        #expect(try snapshot.get("a.b", as: Int.self) == 3)
        #expect(try snapshot.get("a.c", as: Int?.self) == nil)
        #expect(try snapshot.get("a.zzz", as: Int?.self) == nil)
        let error = #expect(throws: DecodingError.self) { try snapshot.get("a.b", as: String.self) }
        #expect(error?.explanation == "users/ada.a.b: expected a string, found an integer")
    }

    @Test func severalDocumentsComeInTheOrderAskedFor() async throws {
        let transport = ScriptedTransport([.documents([nil, try stored("a/2", ["n": 2])])])
        let firestore = Firestore(transport: transport)
        let snapshots = try await firestore.getAll(firestore.document("a/1"), firestore.document("a/2"))
        #expect(snapshots.map(\.exists) == [false, true])
        #expect(snapshots.map(\.reference.path) == ["a/1", "a/2"])
        #expect(try await firestore.getAll([]).isEmpty)
    }
}
