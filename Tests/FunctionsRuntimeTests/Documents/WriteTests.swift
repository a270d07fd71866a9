import DocumentModel
import WorkerProtocol
import Foundation
import FunctionsRuntime
import Testing

@Suite struct WriteTests {
    private let firestore = Firestore(transport: ScriptedTransport())

    /// The one write that an operation on `users/ada` sends.
    private func write(_ operation: (DocumentReference) async throws -> Void) async throws -> Write {
        let transport = ScriptedTransport([.committed(1)])
        try await operation(Firestore(transport: transport).document("users/ada"))
        guard case .commit(let writes, nil, nil, _)? = transport.requests.first, writes.count == 1 else {
            throw DocumentError(.internal, "the requests are \(transport.requests)")
        }
        return writes[0]
    }

    private func path(_ dotted: String) throws -> FieldPath { try FieldPath(dotted) }

    @Test func everyKindOfValueIsWritten() async throws {
        let date = Date(timeIntervalSince1970: 1.5)
        let friend = firestore.document("users/bob")
        let write = try await write {
            try await $0.setData([
                "text": "x", "int": 1, "double": 1.5, "bool": true, "null": FieldValue.null, "date": date,
                "time": Timestamp(seconds: 1, nanoseconds: 0), "data": Data([1]), "friend": friend,
                "place": GeoPoint(latitude: 1, longitude: 2), "list": [1, 2], "map": ["a": "b"], "none": Int?.none,
                "mixed": FieldValue.array([1, "x", FieldValue.map(["a.b": true])]), "value": Value.integer(3),
            ])
        }
        let name = DocumentName(database: DatabaseID(project: "demo-test"), path: try DocumentPath("users/bob"))
        #expect(
            write
                == Write(
                    path: try DocumentPath("users/ada"),
                    operation: .set([
                        "text": .string("x"), "int": 1, "double": .double(1.5), "bool": .boolean(true), "null": .null,
                        "date": .timestamp(Timestamp(seconds: 1, nanoseconds: 500_000_000)),
                        "time": .timestamp(Timestamp(seconds: 1, nanoseconds: 0)), "data": .bytes([1]),
                        "friend": .reference(name), "place": .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
                        "list": .array([1, 2]), "map": .map(["a": .string("b")]), "none": .null,
                        "mixed": .array([1, .string("x"), .map(["a.b": .boolean(true)])]), "value": 3,
                    ])))
    }

    @Test func setTakesComputedFieldsOut() async throws {
        let write = try await write {
            try await $0.setData([
                "n": FieldValue.increment(1), "m": FieldValue.map(["at": FieldValue.serverTimestamp(), "x": 1]),
                "a.b": 2,
            ])
        }
        #expect(write.operation == .set(["m": .map(["x": 1]), "a.b": 2]))
        #expect(
            write.transforms == [
                FieldTransform(try path("m.at"), .serverTimestamp), FieldTransform(try path("n"), .increment(1)),
            ])
        #expect(write.precondition == nil)
    }

    @Test func mergeNamesTheLeaves() async throws {
        let write = try await write {
            try await $0.setData(
                [
                    "a": FieldValue.map(["b": 1, "gone": FieldValue.delete(), "n": FieldValue.maximum(3)]),
                    "x.y": [1], "empty": [String: Int](), "drop": FieldValue.delete(),
                ], merge: true)
        }
        #expect(
            write.operation
                == .update(
                    ["a": .map(["b": 1]), "x.y": .array([1]), "empty": .map([:])],
                    mask: [
                        try path("a.b"), try path("a.gone"), try path("drop"), try path("empty"), try path("`x.y`"),
                    ]))
        #expect(write.transforms == [FieldTransform(try path("a.n"), .maximum(3))])
        #expect(write.precondition == nil)
    }

    @Test func updateTakesDottedPathsAndNeedsTheDocument() async throws {
        let write = try await write {
            try await $0.updateData([
                "address.city": "Paris", "address.zip": FieldValue.delete(), "tags": FieldValue.arrayUnion(["a", 1]),
                "`a.b`.c": 1, "whole": FieldValue.map(["k": 1, "at": FieldValue.serverTimestamp()]),
                "score": FieldValue.increment(0.5), "least": FieldValue.minimum(-2),
            ])
        }
        #expect(
            write
                == Write(
                    path: try DocumentPath("users/ada"),
                    operation: .update(
                        [
                            "address": .map(["city": .string("Paris")]), "a.b": .map(["c": 1]),
                            "whole": .map(["k": 1]),
                        ],
                        mask: [
                            try path("`a.b`.c"), try path("address.city"), try path("address.zip"), try path("whole"),
                        ]),
                    transforms: [
                        FieldTransform(try path("least"), .minimum(-2)),
                        FieldTransform(try path("score"), .increment(.double(0.5))),
                        FieldTransform(try path("tags"), .arrayUnion([.string("a"), 1])),
                        FieldTransform(try path("whole.at"), .serverTimestamp),
                    ], precondition: .exists(true)))
    }

    @Test func createAndDelete() async throws {
        let created = try await write { try await $0.create(["x": 1]) }
        #expect(created.operation == .set(["x": 1]) && created.precondition == .exists(false))
        let deleted = try await write { try await $0.delete() }
        #expect(deleted.operation == .delete && deleted.precondition == nil)
    }

    @Test func preconditionsComeWithTheirWrites() async throws {
        let time = Timestamp(seconds: 5, nanoseconds: 7000)
        let updated = try await write { try await $0.updateData(["x": 1], precondition: .lastUpdateTime(time)) }
        #expect(updated.operation == .update(["x": 1], mask: [try path("x")]))
        #expect(updated.precondition == .updateTime(time))
        let found = try await write { try await $0.updateData(["x": 1], precondition: .exists) }
        #expect(found.precondition == .exists(true))
        let deleted = try await write { try await $0.delete(precondition: .lastUpdateTime(time)) }
        #expect(deleted.operation == .delete && deleted.precondition == .updateTime(time))
        let gone = try await write { try await $0.delete(precondition: .exists) }
        #expect(gone.operation == .delete && gone.precondition == .exists(true))

        let path = try DocumentPath("users/ada")
        let expected = [
            Write(
                path: path, operation: .update(["x": 1], mask: [FieldPath(segments: ["x"])]),
                precondition: .updateTime(time)),
            Write(path: path, operation: .delete, precondition: .updateTime(time)),
            Write(path: path, operation: .delete, precondition: .exists(true)),
        ]
        let batched = ScriptedTransport([.committed(3)])
        let batch = Firestore(transport: batched).batch()
        let ada = firestore.document("users/ada")
        try batch.updateData(["x": 1], forDocument: ada, precondition: .lastUpdateTime(time))
        try batch.deleteDocument(ada, precondition: .lastUpdateTime(time))
        try batch.deleteDocument(ada, precondition: .exists)
        try await batch.commit()
        #expect(batched.requests == [.commit(expected, transaction: nil, completing: nil)])
        let transacted = ScriptedTransport([.began(1), .committed(3)])
        try await Firestore(transport: transacted).runTransaction { transaction in
            try transaction.updateData(["x": 1], forDocument: ada, precondition: .lastUpdateTime(time))
            try transaction.deleteDocument(ada, precondition: .lastUpdateTime(time))
            try transaction.deleteDocument(ada, precondition: .exists)
        }
        guard case .commit(let writes, _, _, _)? = transacted.requests.last else {
            Issue.record("\(transacted.requests)")
            return
        }
        #expect(writes == expected)
    }

    @Test func aTimeThatNoDocumentHasIsRefused() async {
        let never = Precondition.lastUpdateTime(Timestamp(seconds: .max, nanoseconds: 0))
        let error = await #expect(throws: DocumentError.self) {
            try await firestore.document("users/ada").delete(precondition: never)
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message == "a precondition's lastUpdateTime is not within years 1 to 9999")
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        var fields: [String: any FieldInput]
        var updates = true
        var merge = false
        var part: String
        var testDescription: String { part }
    }

    @Test(arguments: [
        Refused(fields: ["a": FieldValue.array([FieldValue.increment(1)])], part: "FieldValue.increment() is used"),
        Refused(fields: ["a": FieldValue.arrayUnion([FieldValue.delete()])], part: "FieldValue.delete() is used"),
        Refused(fields: ["a": FieldValue.map(["b": FieldValue.delete()])], part: "FieldValue.delete() at a.b"),
        Refused(fields: ["a": FieldValue.delete()], updates: false, part: "FieldValue.delete() at a is allowed"),
        Refused(fields: ["a": 1, "a.b": 2], part: "updateData names both a and a.b"),
        Refused(fields: ["a..b": 1], part: "has an empty segment"),
        Refused(fields: ["": 1], updates: false, part: "a field's name must not be empty"),
        Refused(fields: ["a": FieldValue.increment(UInt64.max)], part: "doesn't fit 64 bits"),
        Refused(fields: ["a": Date(timeIntervalSince1970: 1e15)], part: "not within years 1 to 9999"),
        Refused(fields: ["a": Timestamp(seconds: .max, nanoseconds: 0)], part: "a: a timestamp is not within years 1"),
        Refused(
            fields: ["a": FieldValue.arrayUnion([Timestamp(seconds: .min, nanoseconds: 0)])],
            part: "a: a timestamp is not within years 1"),
    ])
    func impossibleFieldsAreRefused(refused: Refused) async throws {
        let document = firestore.document("users/ada")
        let error = await #expect(throws: DocumentError.self) {
            if refused.updates {
                try await document.updateData(refused.fields)
            } else {
                try await document.setData(refused.fields, merge: refused.merge)
            }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains(refused.part) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["", "users", "users//a", "users/..", "//users/a", "/"])
    func impossiblePathIsRefusedWhenItIsUsed(path: String) async throws {
        let error = await #expect(throws: DocumentError.self) {
            try await firestore.document(path).setData(["x": 1])
        }
        #expect(error?.code == .invalidArgument)
        let reference = firestore.document(path)
        #expect(throws: DocumentError.self) { try firestore.batch().setData(["r": reference], forDocument: reference) }
    }

    @Test func storeDecidesWhatComesBack() async throws {
        let transport = ScriptedTransport([.documents([])])
        let error = await #expect(throws: DocumentError.self) {
            try await Firestore(transport: transport).document("a/b").getDocument()
        }
        #expect(error?.message == "the store responded to get with 0 documents")
    }
}
