import Foundation
import FunctionsRuntime
import FunctionsTesting
import Synchronization
import Testing

/// Fields as authors write and read them.
@Suite struct FieldTests {
    private let tester: FunctionsTester
    private var document: DocumentReference { tester.firestore.document("things/t") }

    init() throws {
        tester = try FunctionsTester(
            CallableFixtures(), startingAt: Timestamp(seconds: 1_795_248_000, nanoseconds: 0))
    }

    private struct Item: Codable, Equatable, Sendable {
        var name: String
        var size: Size?
        var link: URL?
    }

    private enum Size: String, Codable { case small }

    private final class Opaque: Sendable {}

    @Test func literalsOfMixedTypesAreStored() async throws {
        let missing: String? = nil
        let json: JSONValue = ["deep": [1, 2.5, nil]]
        try await document.setData([
            "a": ["u": "x", "n": 3, "tags": ["p", 1, nil, ["q": true]], "none": nil],
            "json": json, "nil": nil, "missing": missing, "some": Optional("s"), "empty": [:],
            "item": Item(name: "tea", size: .small), "items": [Item(name: "a"), Item(name: "b")], "size": Size.small,
            "time": FieldValue.serverTimestamp(), "date": Date(timeIntervalSince1970: 1), "float": Float(0.5),
            "set": Set(["only"]), "bytes": Data([1, 2]), "ref": document,
            "body": [UInt8]([1, 2]), "noBody": [UInt8](), "noList": [String](), "part": "abc".dropFirst(),
        ])
        let data = try #require(try await document.getDocument().data())
        #expect(
            data["a"]
                == .map([
                    "u": .string("x"), "n": .integer(3), "none": .null,
                    "tags": .array([.string("p"), .integer(1), .null, .map(["q": .boolean(true)])]),
                ]))
        #expect(data["json"] == .map(["deep": .array([.integer(1), .double(2.5), .null])]))
        #expect(data["nil"] == .null)
        #expect(data["missing"] == .null)
        #expect(data["some"] == .string("s"))
        #expect(data["empty"] == .map([:]))
        #expect(data["item"] == .map(["name": .string("tea"), "size": .string("small")]))
        #expect(data["items"]?[1] == .map(["name": .string("b")]))
        #expect(data["size"] == .string("small"))
        #expect(data["body"] == .bytes([1, 2]) && data["noBody"] == .bytes([]))
        #expect(data["noList"] == .array([]))
        #expect(data["part"] == .string("bc"))
        #expect(data["time"]?.timestampValue?.seconds == tester.now.seconds)
        #expect(data["date"] == .timestamp(Timestamp(seconds: 1, nanoseconds: 0)))
        #expect(data["float"] == .double(0.5))
        #expect(data["set"] == .array([.string("only")]))
        #expect(data["bytes"] == .bytes([1, 2]))
        #expect(data["ref"]?.referencePath == "things/t")
    }

    @Test func otherValuesAreRefusedByName() async throws {
        func refusal(_ fields: sending [String: Any?]) async -> String? {
            let error = await #expect(throws: DocumentError.self) { try await document.setData(fields) }
            #expect(error?.code == .invalidArgument)
            return error?.message
        }
        #expect(
            await refusal(["a": ["b": Opaque()]])
                == "a.b: a field can't store a value of type Opaque; make it Encodable")
        #expect(await refusal(["big": JSONValue.unsigned(.max)])?.hasPrefix("big: 18446744073709551615") == true)
        #expect(await refusal(["list": [FieldValue.delete()]])?.hasPrefix("list: FieldValue.delete()") == true)
        let union = await #expect(throws: DocumentError.self) {
            try await document.updateData(["tags": FieldValue.arrayUnion([Opaque()])])
        }
        #expect(union?.message.hasPrefix("tags: a field can't store") == true)
    }

    @Test func fieldsAreReadAsWhatIsExpected() async throws {
        let at = tester.now
        try await document.setData([
            "n": 3, "half": 0.5, "whole": 2.0, "name": "Ada", "on": true, "at": at, "nothing": nil,
            "map": ["city": "Kyoto"], "list": [1, 2], "data": Data([7]),
        ])
        let snapshot = try await document.getDocument()
        #expect(snapshot["n"]?.intValue == 3)
        #expect(snapshot.n?.intValue == 3)
        #expect(snapshot.whole?.intValue == 2)
        #expect(snapshot.half?.intValue == nil)
        #expect(snapshot.n?.doubleValue == 3)
        #expect(snapshot.name?.stringValue == "Ada")
        #expect(snapshot.on?.boolValue == true)
        #expect(snapshot.at?.timestampValue == at)
        #expect(snapshot.at?.dateValue == at.dateValue())
        #expect(snapshot["data"]?.dataValue == Data([7]))
        #expect(snapshot.nothing?.isNull == true)
        #expect(snapshot.nowhere == nil)
        #expect(snapshot.map?["city"]?.stringValue == "Kyoto")
        #expect(snapshot["map.city"]?.stringValue == "Kyoto")
        #expect(snapshot.list?[1]?.intValue == 2)
        #expect(snapshot.list?[2] == nil)
        let n: Int = try snapshot.get("n")
        let name: String? = try snapshot.get("name")
        let none: String? = try snapshot.get("nowhere")
        let null: Int? = try snapshot.get("nothing")
        #expect(n == 3)
        #expect(name == "Ada")
        #expect(none == nil)
        #expect(null == nil)
        #expect(throws: DecodingError.self) { let _: Int = try snapshot.get("name") }
    }

    @Test func missingDocumentsAreNilOrErrors() async throws {
        #expect(try await document.getDocumentIfExists(as: Item.self) == nil)
        let error = await #expect(throws: DocumentError.self) { try await document.getDocument(as: Item.self) }
        #expect(error?.code == .notFound)
        let inside = try await tester.firestore.runTransaction { transaction in
            let found = try await transaction.getDocumentIfExists(document, as: Item.self)
            try transaction.setData(from: Item(name: "tea"), forDocument: document)
            return found
        }
        #expect(inside == nil)
        #expect(try await document.getDocumentIfExists(as: Item.self)?.data == Item(name: "tea"))
        try await document.updateData(["name": 1])
        await #expect(throws: DecodingError.self) { try await document.getDocumentIfExists(as: Item.self) }
    }

    @Test func resultsAreSequences() async throws {
        let things = tester.firestore.collection("things")
        for name in ["a", "b", "c"] { try await things.document(name).setData(["name": name]) }
        var names: [String] = []
        for document in try await things.order(by: "name").getDocuments() {
            names.append(try document.get("name"))
        }
        #expect(names == ["a", "b", "c"])
        let results = try await things.getDocuments()
        #expect(results.count == 3)
        #expect(results.first?.documentID == "a")
        #expect(results.map(\.documentID) == ["a", "b", "c"])
    }

    @Test func mergeFieldsNamesWhatChanges() async throws {
        try await document.setData(["a": 1, "b": ["x": 1, "y": 1], "c": 1])
        try await document.setData(
            ["a": 2, "b": ["x": 2, "y": 2], "c": FieldValue.delete(), "n": FieldValue.increment(3)],
            mergeFields: ["b.x", "c", "n"])
        #expect(
            try await document.getDocument().data()
                == ["a": .integer(1), "b": .map(["x": .integer(2), "y": .integer(1)]), "n": .integer(3)])
        let error = await #expect(throws: DocumentError.self) {
            try await document.setData(["a": 1], mergeFields: ["a.b"])
        }
        #expect(error?.message == "mergeFields names a.b, which the data doesn't have")
        let twice = await #expect(throws: DocumentError.self) {
            try await document.setData(["a": ["b": 1]], mergeFields: ["a.b", "a"])
        }
        #expect(twice?.message == "mergeFields names both a and a.b, which is inside it")
        let batch = tester.firestore.batch()
        let other = tester.firestore.document("things/new")
        try batch.setData(["a": 1, "b": 2], forDocument: other, mergeFields: [FieldPath(segments: ["a"])])
        try await batch.commit()
        #expect(try await other.getDocument().data() == ["a": .integer(1)])
    }

    @Test func mergeFieldsNamesWhatAValueChanges() async throws {
        let firestore = tester.firestore
        let stored = Item(name: "lamp", size: .small)
        let changed = Item(name: "chair", link: URL(string: "https://shop.example/"))
        let all = ["a", "b", "c", "d"].map { firestore.document("things/\($0)") }
        for document in all { try await document.setData(from: stored) }
        try await all[0].setData(from: changed, mergeFields: ["link"])
        let batch = firestore.batch()
        try batch.setData(from: changed, forDocument: all[1], mergeFields: [FieldPath(["link"])])
        try await batch.commit()
        try await firestore.runTransaction { transaction in
            try transaction.setData(from: changed, forDocument: all[2], mergeFields: ["link"])
        }
        let writer = firestore.bulkWriter()
        try await writer.setData(from: changed, forDocument: all[3], mergeFields: ["link"])
        try await writer.create(from: changed, forDocument: firestore.document("things/e"))
        #expect(await writer.close().isEmpty)
        for document in all {
            let item = try await document.getDocument(as: Item.self).data
            #expect(item == Item(name: "lamp", size: .small, link: changed.link))
        }
        #expect(try await firestore.document("things/e").getDocument(as: Item.self).data == changed)
        // A nil isn't encoded.
        let missing = await #expect(throws: DocumentError.self) {
            try await all[0].setData(from: changed, mergeFields: ["size"])
        }
        #expect(missing?.message == "mergeFields names size, which the data doesn't have")
    }

    @Test func vectorsAreValuesOfTheirOwn() async throws {
        try await document.setData(["a": FieldValue.vector([1, 2]), "inner": ["b": VectorValue([Float(0.5)])], "n": 1])
        let snapshot = try await document.getDocument()
        #expect(snapshot.a?.vectorValue == VectorValue([1, 2]))
        #expect(snapshot.inner?["b"]?.vectorValue?.array == [0.5])
        #expect(snapshot.n?.vectorValue == nil)
        let read: VectorValue = try snapshot.get("a")
        #expect(read == FieldValue.vector([1, 2]))
        // As a whole: nothing of the map that was there stays.
        try await document.setData(["a": ["x": 1]])
        try await document.setData(["a": read], merge: true)
        #expect(try await document.getDocument().data() == snapshot.data().map { ["a": $0["a"] ?? .null] })
        try await document.updateData(["a": FieldValue.vector([3])])
        let found = try await tester.firestore.collection("things")
            .whereField("a", isEqualTo: FieldValue.vector([3])).getDocuments()
        #expect(found.map(\.documentID) == ["t"])
    }

    @Test func otherVectorsAreRefusedByName() async throws {
        func refusal(_ array: [Double]) async -> String? {
            let error = await #expect(throws: DocumentError.self) {
                try await document.setData(["a": ["b": FieldValue.vector(array)]])
            }
            #expect(error?.code == .invalidArgument)
            return error?.message
        }
        #expect(await refusal([]) == "a.b: a vector has 0 elements; it must have 1 to 2048")
        #expect(
            await refusal([Double](repeating: 0, count: 2049))
                == "a.b: a vector has 2049 elements; it must have 1 to 2048")
        #expect(await refusal([0, .nan]) == "a.b: a vector's element 1 is NaN")
        try await document.setData(["a": FieldValue.vector([Double](repeating: 1, count: 2048))])
    }

    @Test func aWriteMayRestOnWhatWasRead() async throws {
        func refusal(_ body: () async throws -> Void) async -> StatusCode? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? DocumentError)?.code
            }
        }
        let first = try #require(try await document.setData(["n": 1]))
        try await tester.advance(by: .seconds(1))
        let second = try #require(
            try await document.updateData(["n": 2], precondition: .lastUpdateTime(first)))
        let update = await refusal {
            try await document.updateData(["n": 3], precondition: .lastUpdateTime(first))
        }
        #expect(update == .failedPrecondition)
        let deletion = await refusal { try await document.delete(precondition: .lastUpdateTime(first)) }
        #expect(deletion == .failedPrecondition)
        let stale = tester.firestore.batch()
        try stale.setData(["n": 1], forDocument: tester.firestore.document("things/other"))
        try stale.deleteDocument(document, precondition: .lastUpdateTime(first))
        let batch = await refusal { try await stale.commit() }
        #expect(batch == .failedPrecondition)
        #expect(try await !tester.firestore.document("things/other").getDocument().exists)
        let transaction = await refusal {
            try await tester.firestore.runTransaction { transaction in
                try transaction.updateData(["n": 3], forDocument: document, precondition: .lastUpdateTime(first))
            }
        }
        #expect(transaction == .failedPrecondition)
        let writer = tester.firestore.bulkWriter()
        try await writer.deleteDocument(document, precondition: .lastUpdateTime(first))
        let failures = await writer.close()
        #expect(failures.map(\.error.code) == [.failedPrecondition])

        let read = try await document.getDocument()
        #expect(read.n?.intValue == 2)
        #expect(read.updateTime == second)
        try await document.delete(precondition: .lastUpdateTime(second))
        #expect(try await !document.getDocument().exists)
        let again = await refusal { try await document.delete(precondition: .exists) }
        #expect(again == .notFound)
        let missing = await refusal {
            try await document.updateData(["n": 1], precondition: .lastUpdateTime(second))
        }
        #expect(missing == .failedPrecondition)
        try await document.delete()
    }

    @Test func outerSlashesDontMatter() async throws {
        let firestore = tester.firestore
        #expect(firestore.document("/things/t/") == document)
        #expect(firestore.collection("/things/").document("/t") == document)
        #expect(firestore.document("things/t/").collection("/parts").path == "things/t/parts")
        try await firestore.document("/things/t").setData(["a": 1])
        #expect(try await document.getDocument().exists)
        await #expect(throws: DocumentError.self) { try await firestore.document("things//t").getDocument() }
    }

    @Test func timesAreCounted() {
        let time = Timestamp(seconds: 10, nanoseconds: 900_000_000)
        #expect(time + .milliseconds(200) == Timestamp(seconds: 11, nanoseconds: 100_000_000))
        #expect(time - .milliseconds(950) == Timestamp(seconds: 9, nanoseconds: 950_000_000))
        #expect(time - .seconds(20) == Timestamp(seconds: -10, nanoseconds: 900_000_000))
        #expect(time + .seconds(Int64.max) == Timestamp(seconds: .max, nanoseconds: 900_000_000))
        #expect((time + .hours(1)) - time == .seconds(3600))
        #expect(time - (time + .nanoseconds(1)) == .nanoseconds(-1))
        #expect(Duration.days(2) == .hours(48))
        // Numbers that a client may have sent.
        for huge in [Int.max, .min, 200_000_000_000_000] {
            _ = time + .days(huge)
            _ = time - .days(huge)
            _ = time - .minutes(huge)
        }
        #expect(time - .seconds(Int64.min) > time)
        #expect(Duration.days(Double.nan) == .zero && Duration.hours(Double.infinity) > .hours(1))
        #expect(Duration.minutes(1.5) == .seconds(90))
        var later = time
        later += .days(1)
        #expect(later > time)
        later -= .days(1)
        #expect(later == time)
        let date = Date(timeIntervalSince1970: 10.5)
        #expect(date < time)
        #expect(time > date)
        #expect(time >= date)
        #expect(date <= time)
        #expect(date != time)
        #expect(Timestamp(date: date) == date)
    }

    @Test func fieldsOfAMissingDocumentAreNil() async throws {
        let missing = try await tester.firestore.document("items/none").getDocument()
        let price: Int? = try missing.get("price")
        #expect(price == nil)
        #expect(try missing.get("price", as: Int?.self) == nil)
        #expect(throws: DocumentError.self) { try missing.get("price", as: Int.self) }
        #expect(try missing.data(as: Item?.self) == nil)
        #expect(throws: DocumentError.self) { try missing.data(as: Item.self) }
        try await document.setData(from: Item(name: "tea"))
        let item = try await document.getDocument().data(as: Item?.self)
        #expect(item == Item(name: "tea"))
    }

    @Test func elementsAreTransformedConcurrentlyInOrder() async throws {
        let running = Atomic(0)
        let results = try await (0..<20).concurrentMap(limit: 3) { number in
            #expect(running.add(1, ordering: .relaxed).newValue <= 3)
            await Task.yield()
            running.subtract(1, ordering: .relaxed)
            return number * 2
        }
        #expect(results == (0..<20).map { $0 * 2 })
        #expect(try await [Int]().concurrentMap { $0 } == [])
        await #expect(throws: CancellationError.self) {
            try await [1, 2].concurrentMap { number in
                if number == 2 { throw CancellationError() }
                try await Task.sleep(for: .seconds(3600))
            }
        }
    }

    @Test func aSnapshotHasItsIDAndNilIsNullInAComparison() async throws {
        let items = tester.firestore.collection("items")
        try await items.document("a").setData(["id": "field", "note": nil])
        try await items.document("b").setData(["note": "x"])
        let found = try await items.whereField("note", isEqualTo: nil).getDocuments()
        #expect(found.map(\.id) == ["a"])
        #expect(found[0].ref == items.document("a"))
        #expect(found[0]["id"]?.stringValue == "field")
        #expect(try await items.whereField("note", isNotEqualTo: nil).getDocuments().map(\.id) == ["b"])
    }

    @Test func handlersSeeTheTestersTime() async throws {
        let now: Int64 = try await tester.call("now")
        #expect(now == tester.now.seconds)
        try await tester.advance(by: .hours(1))
        #expect(try await tester.call("now") == tester.now.seconds)
        #expect(tester.now.seconds == now + 3600)
    }
}
