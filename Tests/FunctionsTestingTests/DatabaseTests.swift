import Foundation
import FunctionsRuntime
import FunctionsTesting
import Testing
import TestSupport

private struct Message: Codable, Sendable, Equatable {
    var text: String
    var sent: Int?
}

private struct Chat: FunctionBundle {
    var functions: [Function] {
        onCall("post") { (request: CallableRequest<String>) in
            let message = request.database.reference(withPath: "rooms/lobby/messages").childByAutoId()
            try await message.setValue(["text": .string(request.data), "sent": ServerValue.timestamp()])
            return message.key ?? ""
        }
        onValueCreated("moderate", reference: "rooms/{room}/messages/{message}", .retry()) {
            (event: DatabaseEvent<Message>, transaction: Transaction) in
            guard event.data.text.contains("darn") else { return }
            try transaction.database.setValue("***", at: event.reference.child("text"))
            try transaction.setData(
                ["text": event.data.text],
                forDocument: transaction.firestore.document("moderated/\(event.params["message"] ?? "")"))
        }
        onValueWritten("count", reference: "/likes/{post}") { event in
            let count = event.data.after.childrenCount
            try await event.database.reference(withPath: "counts").child(try event.parameter("post")).setValue(
                .integer(Int64(count)))
        }
        onCall("like") { (request: CallableRequest<String>, transaction: Transaction) in
            let likes = request.database.reference(withPath: "stars/\(request.data)")
            let count = (try await transaction.database.getData(likes).value?.intValue ?? 0) + 1
            try transaction.database.setValue(.integer(Int64(count)), at: likes)
            try transaction.setData(
                ["stars": count], forDocument: transaction.firestore.document("posts/\(request.data)"))
            return count
        }
        onCall("add") { (request: CallableRequest<Int>) in
            let result = try await request.database.reference(withPath: "sum").runTransactionBlock { data in
                guard request.data > 0 else { return .abort() }
                data.value = .integer(Int64((data.value?.intValue ?? 0) + request.data))
                return .success(withValue: data)
            }
            return result.committed
        }
        onCall("follow") { (request: CallableRequest<NoData>) in
            for try await _ in request.database.reference(withPath: "room").observe(.value) {}
            return "over"
        }
    }
}

private struct Attributes: FunctionBundle {
    var functions: [Function] {
        onValueCreated("here", reference: "rooms/{room}") { event in try await Self.keep(event) }
        onValueCreated("there", reference: "rooms/{room}", .region("europe-west1")) { event in
            try await Self.keep(event)
        }
    }

    private static func keep(_ event: DatabaseEvent<DataSnapshot>) async throws {
        let attributes = [event.type, event.source, event.subject, event.firebaseDatabaseHost]
        let place = event.database.reference(withPath: "seen").child(event.location)
        try await place.setValue(.array(attributes.map { .string($0) }))
    }
}

/// Keeps what it sees, as an object with the trigger's name.
private struct Seen: FunctionBundle {
    var functions: [Function] {
        onValueCreated("created", reference: "rooms/{room}") { (event: DatabaseEvent<DataSnapshot>) in
            try await event.database.reference(withPath: "seen/created").setValue(event.data.value)
        }
        onValueUpdated("updated", reference: "rooms/{room}") { (event: DatabaseEvent<Change<DataSnapshot>>) in
            try await event.database.reference(withPath: "seen/updated").setValue(event.data.after.value)
        }
        onValueDeleted("deleted", reference: "rooms/{room}") { (event: DatabaseEvent<DataSnapshot>) in
            try await event.database.reference(withPath: "seen/deleted").setValue(event.data.value)
        }
    }
}

/// The Realtime Database as functions use it.
struct DatabaseTests {
    @Test(.endsHangs) func aMessageIsModeratedInOneCommitWithADocument() async throws {
        // Each reading of the clock takes a microsecond of it.
        let tester = try FunctionsTester(Chat(), startingAt: Timestamp(seconds: 1_767_323_045, nanoseconds: 0))
        let good: String = try await tester.call("post", "hello")
        let bad: String = try await tester.call("post", "darn it")
        try await tester.deliverAll()
        let messages = try await tester.database.reference(withPath: "rooms/lobby/messages").getData()
        #expect(messages.children.map(\.key) == [good, bad])
        #expect(messages.children.map(\.ref.path) == [good, bad].map { "rooms/lobby/messages/\($0)" })
        #expect(try messages.childSnapshot(forPath: good).data(as: Message.self).text == "hello")
        #expect(messages.childSnapshot(forPath: good + "/sent").value == .integer(tester.now.microseconds / 1_000))
        #expect(messages.childSnapshot(forPath: bad + "/text").value == "***")
        #expect(try await tester.firestore.document("moderated/\(bad)").getDocument()["text"] == .string("darn it"))
        #expect(try await tester.firestore.document("moderated/\(good)").getDocument().exists == false)
    }

    @Test(.endsHangs) func eachChangedNodeCallsTheFunction() async throws {
        let tester = try FunctionsTester(Chat())
        let root = tester.database.reference()
        try await root.updateChildValues(["likes/a/ada": true, "likes/a/bob": true, "likes/b/ada": true])
        try await tester.deliverAll()
        #expect(try await root.child("counts").getData().value == ["a": 2, "b": 1])
        try await root.child("likes/a").removeValue()
        try await tester.deliverAll()
        #expect(try await root.child("counts").getData().value == ["a": 0, "b": 1])
    }

    @Test(.endsHangs) func bothWorldsHaveTheSameCount() async throws {
        let tester = try FunctionsTester(Chat())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { let _: Int = try await tester.call("like", "p") } }
            try await group.waitForAll()
        }
        #expect(try await tester.database.reference(withPath: "stars/p").getData().value == 20)
        #expect(try await tester.firestore.document("posts/p").getDocument()["stars"] == .integer(20))
    }

    @Test(.endsHangs) func aTransactionBlockRunsAgainIfOthersAreFaster() async throws {
        let tester = try FunctionsTester(Chat())
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 { group.addTask { try await tester.call("add", 2) } }
            for try await committed in group { #expect(committed) }
        }
        #expect(try await tester.database.reference(withPath: "sum").getData().value == 20)
        let committed: Bool = try await tester.call("add", 0)
        #expect(!committed)
    }

    @Test(.endsHangs) func aTestFiresAnEvent() async throws {
        let tester = try FunctionsTester(Chat())
        try await tester.fire("count", reference: "likes/x", before: ["ada": true], after: ["ada": true, "bob": true])
        #expect(try await tester.database.reference(withPath: "counts/x").getData().value == 2)
        await #expect(throws: (any Error).self) {
            try await tester.fire("count", reference: "other/x", after: 1)
        }
        await #expect(throws: TestError.self) { try await tester.fire("like", reference: "likes/x", after: 1) }
    }

    @Test(.endsHangs) func aFiredEventHasValuesAsTheyAreStored() async throws {
        // Each reading of the clock takes a microsecond of it.
        let tester = try FunctionsTester(Seen(), startingAt: Timestamp(seconds: 1_767_323_045, nanoseconds: 0))
        let seen = tester.database.reference(withPath: "seen")
        let nothing: JSONValue = ["x": nil, "y": [:], "z": [nil]]
        try await tester.fire("created", reference: "/rooms//a/", before: nothing, after: ["x": 1, "y": [:]])
        #expect(try await seen.child("created").getData().value == ["x": 1])
        try await tester.fire("deleted", reference: "rooms/a", before: true, after: nothing)
        #expect(try await seen.child("deleted").getData().value == true)
        try await tester.fire("deleted", reference: "rooms/a", before: false, after: .null)
        #expect(try await seen.child("deleted").getData().value == false)
        try await tester.fire(
            "updated", reference: "rooms/a", before: ["n": 3],
            after: ["n": [".sv": ["increment": 2]], "t": [".sv": "timestamp"]])
        #expect(
            try await seen.child("updated").getData().value
                == ["n": 5, "t": .integer(tester.now.microseconds / 1_000)])
        await #expect(throws: TestError.self) {
            try await tester.fire("created", reference: "rooms/a", after: ["a.b": 1])
        }
        await #expect(throws: TestError.self) { try await tester.fire("created", reference: "rooms/a$", after: 1) }
    }

    @Test(.endsHangs) func anEventHasTheAttributesOfACloudEvent() async throws {
        let tester = try FunctionsTester(Attributes())
        try await tester.database.reference(withPath: "rooms/lobby").setValue(true)
        try await tester.deliverAll()
        let seen = try await tester.database.reference(withPath: "seen").getData()
        for (region, host) in [
            ("us-central1", "firebaseio.com"), ("europe-west1", "europe-west1.firebasedatabase.app"),
        ] {
            let attributes = (0..<4).map { seen.childSnapshot(forPath: "\(region)/\($0)").value?.stringValue ?? "" }
            #expect(attributes[0] == "google.firebase.database.ref.v1.created")
            #expect(
                attributes[1].hasPrefix("//firebasedatabase.googleapis.com/projects/_/locations/\(region)/instances/"))
            #expect(attributes[2...] == ["refs/rooms/lobby", host])
        }
    }

    // MARK: Values

    @Test(.endsHangs) func valuesPrioritiesAndCodableTypes() async throws {
        let reference = try FunctionsTester(Chat()).database.reference(withPath: "/a/b/")
        #expect(reference.path == "a/b")
        #expect(reference.key == "b")
        #expect(reference.parent?.path == "a")
        // A key may begin with a mark, or end with one that belongs to what follows.
        let marked = reference.root.child("rooms").child("\u{301}x")
        #expect(marked.parent?.path == "rooms")
        #expect(marked.key.map { Array($0.utf8) } == Array("\u{301}x".utf8))
        #expect(reference.root.child("m/a\u{600}/b").parent?.path.utf8.elementsEqual("m/a\u{600}".utf8) == true)
        try await reference.setValue(from: Message(text: "t", sent: 1))
        #expect(try await reference.data() == Message(text: "t", sent: 1))
        try await reference.setPriority(3)
        #expect(try await reference.getData().priority == 3)
        #expect(
            try await reference.getData().valueInExportFormat == ["sent": 1, "text": "t", ".priority": 3])
        try await reference.setValue([10, nil, 30], andPriority: "p")
        let array = try await reference.getData()
        #expect(array.value == [10, nil, 30])
        #expect(array.priority == "p")
        #expect(array.hasChild("2"))
        try await reference.setValue(ServerValue.increment(2), andPriority: 4)
        let counted = try await reference.getData()
        #expect(counted.value == 2)
        #expect(counted.priority == 4)
        try await reference.setValue(nil)
        #expect(try await !reference.getData().exists())
        let missing: Message? = try await reference.data()
        #expect(missing == nil)
    }

    @Test(.endsHangs) func valuesMayBeVariablesOfDifferentTypes() async throws {
        let tester = try FunctionsTester(Chat())
        let (text, count, note) = ("Hello", 2, String?.none)
        let room = tester.database.reference(withPath: "room")
        try await room.setValue([
            "text": text, "count": count, "sum": ServerValue.increment(1), "note": note, "tags": [text, 1],
            "last": Message(text: text),
        ])
        #expect(
            try await room.getData().value == [
                "text": "Hello", "count": 2, "sum": 1, "tags": ["Hello", 1], "last": ["text": "Hello"],
            ])
        try await room.child("count").setValue(count + 1)
        try await room.child("text").setValue(note)
        try await room.updateChildValues(["last/text": text + "!", "last/sent": count, "tags": nil])
        #expect(
            try await room.getData().value == ["count": 3, "sum": 1, "last": ["text": "Hello!", "sent": 2]])
        try await tester.firestore.runTransaction { transaction in
            try transaction.database.setValue(["text": text, "count": count], at: room)
            try transaction.database.updateChildValues(["last/text": text], at: room)
            try transaction.database.setValue(count + 5, at: room.child("sum"))
        }
        #expect(
            try await room.getData().value == ["text": "Hello", "count": 2, "sum": 7, "last": ["text": "Hello"]])
    }

    @Test(.endsHangs) func aServerTimestampIsTheDatabasesTime() async throws {
        struct Note: Codable, Equatable {
            @ServerTimestamp var at: Date?
            @ServerTimestamp var seen: Timestamp?
        }
        // Each reading of the clock takes a microsecond of it.
        let start = Timestamp(seconds: 1_767_323_045, nanoseconds: 0)
        let tester = try FunctionsTester(Chat(), startingAt: start)
        let room = tester.database.reference(withPath: "room")
        let (now, missing, count) = (JSONValue.integer(1_767_323_045_000), Note(at: nil, seen: nil), 1)
        let known = Note(
            at: Date(timeIntervalSince1970: 1.5), seen: Timestamp(seconds: 2, nanoseconds: 3_000_000))
        try await room.setValue(from: missing)
        #expect(try await room.getData().value == ["at": now, "seen": now])
        #expect(try await room.data() == Note(at: start.dateValue(), seen: start))
        try await room.setValue(from: known)
        #expect(try await room.getData().value == ["at": 1500, "seen": 2003])
        #expect(try await room.data() == known)
        // Among values of different types, and in a transaction.
        try await room.setValue(["count": count, "last": missing])
        #expect(try await room.child("last/at").getData().value == now)
        try await tester.firestore.runTransaction { transaction in
            try transaction.database.setValue(from: missing, at: room)
        }
        #expect(try await room.getData().value == ["at": now, "seen": now])
        // As earlier versions have stored it.
        try await room.setValue(["at": "1970-01-01T00:00:01.500Z", "seen": "1970-01-01T00:00:02.003Z"])
        #expect(try await room.data() == known)
    }

    /// The database keeps nothing of them.
    @Test(.endsHangs) func emptyCollectionsComeBack() async throws {
        struct Part: Codable, Equatable {
            var title: String
            var tags: [String] = []
            var members: [String: Bool] = [:]
            var seen: Set<Int> = []
            var parts: [Part]? = []
        }
        let reference = try FunctionsTester(Chat()).database.reference(withPath: "room")
        let whole = Part(title: "lobby", parts: [Part(title: "desk", parts: nil)])
        try await reference.setValue(from: whole)
        #expect(try await reference.getData().value == ["title": "lobby", "parts": [["title": "desk"]]])
        #expect(try await reference.data() == whole)
        // Other types must be there.
        let error = await #expect(throws: DecodingError.self) {
            try await reference.child("parts").setValue([["tags": ["a"]]])
            _ = try await reference.data(as: Part.self)
        }
        #expect(error?.explanation == "room.parts[0].title: missing")
    }

    /// As Swift encodes it, it is an empty object.
    @Test(.endsHangs) func anEnumsCaseWithoutValuesIsRefused() async throws {
        enum State: Codable, Equatable { case idle, away(since: Int?), busy(since: Int) }
        struct Player: Codable, Equatable {
            var state: State
            var tags: [String: Bool] = [:]
        }
        let room = try FunctionsTester(Chat()).database.reference(withPath: "room")
        let player = Player(state: .busy(since: 1))
        try await room.setValue(from: player)
        #expect(try await room.data() == player)
        for (state, name) in [(State.idle, "idle"), (.away(since: nil), "away")] {
            let one = await #expect(throws: EncodingError.self) {
                try await room.setValue(from: Player(state: state))
            }
            #expect(one?.explanation.hasPrefix("value.state.\(name): an enum's case without values") == true)
            let list = await #expect(throws: EncodingError.self) { try await room.setValue(from: [state]) }
            #expect(list?.explanation.hasPrefix("value[0].\(name): an enum's case without values") == true)
        }
        let (count, idle) = (1, State.idle)
        let mixed = await #expect(throws: DocumentError.self) {
            try await room.setValue(["count": count, "state": idle])
        }
        #expect(mixed?.code == .invalidArgument)
        #expect(try await room.data() == player)
    }

    @Test(.endsHangs) func whatIsNoEnumMayHaveNothingButAnEmptyList() async throws {
        struct Basket: Encodable {
            enum CodingKeys: CodingKey { case items }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                _ = container.nestedUnkeyedContainer(forKey: .items)
            }
        }
        let room = try FunctionsTester(Chat()).database.reference(withPath: "room")
        try await room.setValue(from: Basket())
        #expect(try await room.getData().exists() == false)
    }

    @Test(.endsHangs) func keysAreDistinguishedByTheirBytes() async throws {
        let tester = try FunctionsTester(Chat())
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let (cafes, copy) = (tester.database.reference(withPath: "cafes"), tester.database.reference(withPath: "copy"))
        try await cafes.child(composed).setValue(1)
        try await cafes.child(decomposed).setValue(2)
        let snapshot = try await cafes.getData()
        #expect(snapshot.childrenCount == 2)
        let value = try #require(snapshot.value?.objectValue)
        #expect(value.count == 2)
        #expect(value[composed] == 1)
        #expect(value[decomposed] == 2)
        // What was read can be written.
        try await copy.setValue(snapshot.value)
        #expect(try await copy.getData().value == snapshot.value)
        try await copy.runTransactionBlock { data in
            data.value = data.value
            data.childData(byAppendingPath: composed).value = 3
            return .success(withValue: data)
        }
        let changed = try await copy.getData()
        #expect(changed.childrenCount == 2)
        #expect(changed.value?[composed] == 3)
        #expect(changed.value?[decomposed] == 2)
        // Names of documents are in one form.
        let refused = await #expect(throws: DocumentError.self) {
            try await tester.firestore.document("a/b").setData(["cafes": snapshot.value])
        }
        #expect(refused?.code == .invalidArgument)
    }

    /// What a transaction has read isn't read again: an answer must not be that of a key which only looks the same.
    @Test(.endsHangs) func aTransactionDistinguishesKeysByTheirBytes() async throws {
        let tester = try FunctionsTester(Chat())
        let cafes = tester.database.reference(withPath: "cafes")
        let (composed, decomposed) = (cafes.child("caf\u{E9}"), cafes.child("cafe\u{301}"))
        #expect(composed != decomposed)
        try await composed.setValue(1)
        try await decomposed.setValue(2)
        let sum = try await tester.firestore.runTransaction { transaction in
            let first = try await transaction.database.getData(composed).value?.intValue ?? 0
            let second = try await transaction.database.getData(decomposed).value?.intValue ?? 0
            return 10 * first + second
        }
        #expect(sum == 12)
    }

    @Test(.endsHangs) func whatCantBeEncodedIsRefused() async throws {
        final class Opaque: Sendable {}
        let room = try FunctionsTester(Chat()).database.reference(withPath: "room")
        let opaque = await #expect(throws: DocumentError.self) { try await room.setValue(["a": Opaque()]) }
        #expect(opaque == .invalidArgument("a: a Opaque isn't Encodable"))
        let infinite = await #expect(throws: DocumentError.self) { try await room.setValue([Double.infinity]) }
        #expect(infinite == .invalidArgument("value[0]: JSON has no number for inf"))
        let large = await #expect(throws: DocumentError.self) {
            try await room.updateChildValues(["a": UInt64.max, "b": 1])
        }
        #expect(large?.code == .invalidArgument)
    }

    @Test(.endsHangs, arguments: ["a.b", "a/$x", "[", ".priority", "a/.priority", String(repeating: "k/", count: 40)])
    func aPathThatCantBeIsRefused(path: String) async throws {
        let reference = try FunctionsTester(Chat()).database.reference(withPath: path)
        let error = await #expect(throws: DocumentError.self) { try await reference.setValue(1) }
        #expect(error?.code == .invalidArgument)
    }

    @Test(.endsHangs) func queriesFindWhatTheyAskFor() async throws {
        let users = try FunctionsTester(Chat()).database.reference(withPath: "users")
        try await users.setValue(["a": ["n": 3], "b": ["n": 1], "c": ["n": 2], "d": ["n": "x"]])
        func keys(_ query: some DatabaseQueryable) async throws -> [String] {
            try await query.getData().children.compactMap(\.key)
        }
        #expect(try await keys(users) == ["a", "b", "c", "d"])
        #expect(try await keys(users.queryOrdered(byChild: "n")) == ["b", "c", "a", "d"])
        #expect(try await keys(users.queryOrdered(byChild: "n").queryStarting(atValue: 2)) == ["c", "a", "d"])
        #expect(try await keys(users.queryOrdered(byChild: "n").queryStarting(afterValue: 2)) == ["a", "d"])
        #expect(try await keys(users.queryOrdered(byChild: "n").queryEnding(beforeValue: 2)) == ["b"])
        #expect(try await keys(users.queryOrdered(byChild: "n").queryEqual(toValue: "x")) == ["d"])
        #expect(try await keys(users.queryOrdered(byChild: "n").queryLimited(toLast: 2)) == ["a", "d"])
        #expect(
            try await keys(users.queryOrderedByKey().queryStarting(atValue: "b").queryLimited(toFirst: 2)) == [
                "b", "c",
            ])
        #expect(
            try await keys(users.queryOrderedByKey().queryStarting(afterValue: "b").queryEnding(atValue: "c")) == ["c"])
        // The order may be asked for last.
        #expect(
            try await keys(users.queryStarting(atValue: "b").queryLimited(toFirst: 2).queryOrderedByKey()) == [
                "b", "c",
            ])
        #expect(try await keys(users.queryStarting(atValue: 2).queryOrdered(byChild: "n")) == ["c", "a", "d"])
        for bad in [
            users.queryLimited(toFirst: 0), users.queryOrdered(byChild: ""), users.queryEqual(toValue: [1]),
            users.queryStarting(atValue: 5).queryOrderedByKey(),
        ] {
            let error = await #expect(throws: DocumentError.self) { try await bad.getData() }
            #expect(error?.code == .invalidArgument)
        }
    }

    // MARK: Observing

    @Test(.endsHangs) func whatIsObservedFollowsTheChanges() async throws {
        let reference = try FunctionsTester(Chat()).database.reference(withPath: "room")
        var values = reference.observe(.value).makeAsyncIterator()
        #expect(try await values.next()?.exists() == false)
        try await reference.child("a").setValue(1)
        #expect(try await values.next()?.value == ["a": 1])
        var added = reference.observe(.childAdded).makeAsyncIterator()
        var removed = reference.observe(.childRemoved).makeAsyncIterator()
        #expect(try await added.next()?.key == "a")
        try await reference.child("b").setValue(2)
        #expect(try await added.next()?.key == "b")
        // Again and again, since the observation begins at some time.
        let child = reference.child("c")
        let changes = Task {
            while !Task.isCancelled {
                try await child.setValue(3)
                try await child.removeValue()
            }
        }
        #expect(try await removed.next()?.value == 3)
        changes.cancel()
    }

    @Test(.endsHangs) func veryManyChildrenAreObservedOneByOne() async throws {
        let reference = try FunctionsTester(Chat()).database.reference(withPath: "room")
        let all = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("m\($0)", $0) })
        try await reference.setValue(from: all)
        var keys: [String] = []
        for try await child in reference.observe(.childAdded) {
            keys.append(child.key ?? "")
            if keys.count == all.count { break }
        }
        #expect(keys == all.keys.sorted())
    }

    @Test(.endsHangs) func newChildrenComeInTheOrderOfTheQuery() async throws {
        let reference = try FunctionsTester(Chat()).database.reference(withPath: "room")
        try await reference.setValue(["a": ["n": 3], "b": ["n": 2], "c": ["n": 1]])
        var added = reference.queryOrdered(byChild: "n").observe(.childAdded).makeAsyncIterator()
        var keys: [String?] = []
        for _ in 0..<3 { keys.append(try await added.next()?.key) }
        try await reference.updateChildValues(["e/n": 2, "d/n": 0, "a/n": 4])
        for _ in 0..<2 { keys.append(try await added.next()?.key) }
        try await reference.setValue(["a": ["n": 1], "g": ["n": 3], "f": ["n": 5]])
        for _ in 0..<2 { keys.append(try await added.next()?.key) }
        #expect(keys == ["c", "b", "a", "d", "e", "g", "f"])
    }

    @Test(.endsHangs) func anObservationEndsWithItsInvocation() async throws {
        let tester = try FunctionsTester(Chat())
        let call = Task { try await tester.call("follow", returning: String.self) }
        try await tester.waitUntilRunning("follow")
        try await tester.advance(by: .seconds(60))
        let late = await #expect(throws: HttpsError.self) { try await call.value }
        #expect(late?.code == .deadlineExceeded)
        let other = Task { try await tester.call("follow", returning: String.self) }
        try await tester.waitUntilRunning("follow")
        // As a client that disconnects.
        other.cancel()
        #expect(try await other.value == "over")
    }

    @Test(.endsHangs) func anObservationEndsWithItsTask() async throws {
        let tester = try FunctionsTester(Chat())
        let all = [tester.database.reference(), try tester.database(as: .nobody).reference()]
        for reference in all {
            let (seen, see) = AsyncStream.makeStream(of: Void.self)
            let follow = Task {
                for try await _ in reference.observe(.value) { see.yield() }
            }
            for await _ in seen { break }
            follow.cancel()
            try await follow.value
        }
    }

    // MARK: Clients

    private static let rules = """
        {"rules": {
          "status": {"$user": {".read": true, ".write": "auth.uid == $user", ".validate": "newData.isString()"}},
          "users": {".read": "auth != null", ".indexOn": "name", "$user": {".write": "auth.token.level > 1"}}
        }}
        """

    private func tester() throws -> FunctionsTester {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(Self.rules.utf8).write(to: file)
        return try FunctionsTester(Chat(), databaseRules: file.path)
    }

    @Test(.endsHangs) func clientsAreUnderTheRules() async throws {
        let tester = try tester()
        let ada = try tester.database(as: .user("ada", claims: ["level": 2]))
        try await ada.reference(withPath: "status/ada").setValue("here")
        #expect(try await ada.reference(withPath: "status/ada").getData().value == "here")
        try await ada.reference().updateChildValues(["status/ada": "away", "users/u1": ["name": "Bea"]])
        let found = try await ada.reference(withPath: "users").queryOrdered(byChild: "name").queryEqual(toValue: "Bea")
            .getData()
        #expect(found.children.map(\.key) == ["u1"])
        let others = try tester.database(as: .user("bob"))
        let refused = await #expect(throws: DocumentError.self) {
            try await others.reference(withPath: "status/ada").setValue("gone")
        }
        #expect(refused?.code == .permissionDenied)
        #expect(refused?.message == "Permission denied. /status/ada: .write at 2:39: false")
        await #expect(throws: DocumentError.self) { try await ada.reference(withPath: "status/ada").setValue(1) }
        await #expect(throws: DocumentError.self) {
            try await tester.database(as: .nobody).reference(withPath: "users").getData()
        }
        // Functions and tests have admin access.
        #expect(try await tester.database.reference(withPath: "status/ada").getData().value == "away")
        #expect(throws: TestError.self) { try tester.database(as: .user("")) }
    }

    @Test(.endsHangs) func withoutRulesClientsMayDoEverything() async throws {
        let tester = try FunctionsTester(Chat())
        let likes = try tester.database(as: .nobody).reference(withPath: "likes/a")
        let result = try await likes.runTransactionBlock { data in
            data.value = ["ada": true]
            return .success(withValue: data)
        }
        #expect(result.committed)
        try await tester.deliverAll()
        #expect(try await tester.database.reference(withPath: "counts/a").getData().value == 1)
    }

    @Test(.endsHangs) func aClientThatDisconnectsLeavesWhatItHasRegistered() async throws {
        let tester = try tester()
        let phone = try tester.database(as: .user("ada"))
        let status = phone.reference(withPath: "status/ada")
        try await status.setValue("here")
        try await phone.onDisconnectSetValue("gone", at: status)
        await #expect(throws: DocumentError.self) {
            try await phone.onDisconnectRemoveValue(at: phone.reference(withPath: "status/bob"))
        }
        var seen = status.observe(.value).makeAsyncIterator()
        #expect(try await seen.next()?.value == "here")
        await phone.disconnect()
        await #expect(throws: DocumentError.self) { try await seen.next() }
        #expect(try await status.getData().value == "gone")
        // Once.
        try await status.setValue("here")
        await phone.disconnect()
        #expect(try await status.getData().value == "here")
        try await phone.onDisconnectRemoveValue(at: status)
        try await phone.cancelDisconnectOperations(at: status)
        await phone.disconnect()
        #expect(try await status.getData().value == "here")
    }

    @Test(.endsHangs) func clientsObserveWhatTheyMayRead() async throws {
        let tester = try tester()
        let phone = try tester.database(as: .user("ada"))
        let users = phone.reference(withPath: "users")
        var values = users.observe(.value).makeAsyncIterator()
        #expect(try await values.next()?.exists() == false)
        let text = String(repeating: "x", count: 300_000)
        try await tester.database.reference(withPath: "users").updateChildValues(["a/name": .string(text), "b": 2])
        #expect(try await values.next()?.value == ["a": ["name": .string(text)], "b": 2])
        var large = users.observe(.value).makeAsyncIterator()
        #expect(try await large.next()?.childSnapshot(forPath: "b").value == 2)
        let hidden = try tester.database(as: .nobody).reference(withPath: "users").observe(.value)
        let refused = await #expect(throws: DocumentError.self) {
            for try await _ in hidden {}
        }
        #expect(refused?.code == .permissionDenied)
    }

    @Test func databaseRulesWithErrorsFail() {
        #expect(throws: TestError.self) { try FunctionsTester(Chat(), databaseRules: "/nowhere.json") }
    }
}
