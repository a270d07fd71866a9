import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

struct WriteTests {
    private let field: FieldPath

    init() throws { field = try FieldPath("f") }

    @Test(arguments: EngineKind.allCases)
    func updateChangesWhatTheMaskNames(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            try await test.set(
                "a/b", ["x": .integer(1), "m": .map(["p": .integer(1), "q": .integer(2)]), "gone": .null])
            let mask = try [FieldPath("m.p"), FieldPath("gone"), FieldPath("n.deep.er"), FieldPath("missing.inner")]
            try await test.commit([
                Write(
                    path: try DocumentPath("a/b"),
                    operation: .update(
                        ["m": .map(["p": .integer(9)]), "n": .map(["deep": .map(["er": .boolean(true)])]), "x": .null],
                        mask: mask))
            ])
            let fields = try await test.get("a/b")?.fields
            #expect(
                fields == [
                    "x": .integer(1), "m": .map(["p": .integer(9), "q": .integer(2)]),
                    "n": .map(["deep": .map(["er": .boolean(true)])]),
                ])
        }
    }

    /// As with what SDKs send to merge `{v: {e: 1}}`, where a document has a vector.
    @Test func aVectorIsReplacedByWhatIsSetBelowItsName() async throws {
        let (vector, other) = (Value.vector([1, 2]), Value.vector([7, 8]))
        let inner = Value.map(["value": .integer(1)])
        let cases: [(mask: [String], new: Value, expected: Value)] = [
            (["v.e"], .map(["e": .integer(1)]), .map(["e": .integer(1)])), (["v.value"], inner, inner),
            (["v.e"], .null, vector), (["v.value"], .null, vector), (["v.value"], other, vector),
            (["v", "v.value"], other, other),
        ]
        for (mask, new, expected) in cases {
            let paths = try mask.map { try FieldPath($0) }
            try await withStore { test in
                try await test.set("a/b", ["v": vector])
                try await test.commit([
                    Write(path: try DocumentPath("a/b"), operation: .update(["v": new], mask: paths))
                ])
                #expect(try await test.get("a/b")?.fields == ["v": expected], "\(mask)")
            }
        }
    }

    @Test func aTransformBelowAVectorsNameReplacesIt() async throws {
        try await withStore { test in
            try await test.set("a/b", ["v": .vector([1, 2])])
            try await test.commit([
                Write(
                    path: try DocumentPath("a/b"), operation: .update([:], mask: []),
                    transforms: [FieldTransform(try FieldPath("v.value"), .arrayUnion([.integer(3)]))])
            ])
            #expect(try await test.get("a/b")?.fields == ["v": .map(["value": .array([.integer(3)])])])
        }
    }

    struct TransformCase: Sendable {
        var before: Value?
        var operation: FieldTransform.Operation
        var after: Value
    }

    @Test(arguments: [
        TransformCase(before: .integer(2), operation: .increment(.integer(3)), after: .integer(5)),
        TransformCase(before: .integer(.max), operation: .increment(.integer(1)), after: .integer(.max)),
        TransformCase(before: .integer(.min), operation: .increment(.integer(-1)), after: .integer(.min)),
        TransformCase(before: .integer(1), operation: .increment(.double(0.5)), after: .double(1.5)),
        TransformCase(before: .double(0.5), operation: .increment(.integer(1)), after: .double(1.5)),
        TransformCase(before: .string("x"), operation: .increment(.integer(7)), after: .integer(7)),
        TransformCase(before: nil, operation: .increment(.integer(7)), after: .integer(7)),
        TransformCase(before: .integer(3), operation: .maximum(.double(3)), after: .integer(3)),
        TransformCase(before: .integer(3), operation: .maximum(.double(3.5)), after: .double(3.5)),
        TransformCase(before: .integer(3), operation: .minimum(.double(2.5)), after: .double(2.5)),
        TransformCase(before: .null, operation: .minimum(.integer(4)), after: .integer(4)),
        TransformCase(before: .double(.nan), operation: .maximum(.integer(4)), after: .double(.nan)),
        TransformCase(
            before: .array([.integer(1)]), operation: .arrayUnion([.double(1), .integer(2), .integer(2)]),
            after: .array([.integer(1), .integer(2)])),
        TransformCase(before: .integer(1), operation: .arrayUnion([.null]), after: .array([.null])),
        TransformCase(
            before: .array([.integer(1), .null, .double(1)]), operation: .arrayRemove([.integer(1)]),
            after: .array([.null])),
    ])
    func transforms(test example: TransformCase) async throws {
        try await withStore { test in
            try await test.set("a/b", example.before.map { ["f": $0] } ?? [:])
            let result = try await test.commit([
                Write(
                    path: try DocumentPath("a/b"), operation: .update([:], mask: []),
                    transforms: [FieldTransform(field, example.operation)])
            ])
            #expect(try await test.get("a/b")?.fields["f"] == example.after)
            switch example.operation {
            case .arrayUnion, .arrayRemove: #expect(result.writeResults[0].transformResults == [.null])
            default: #expect(result.writeResults[0].transformResults == [example.after])
            }
        }
    }

    /// By the values' keys, which are the same for equivalent values.
    @Test func transformsOfArraysCompareAsKeysDo() {
        var generator = SeededGenerator(seed: 13)
        let time = Timestamp(microseconds: 1)
        func random(_ most: Int) -> [Value] {
            (0..<Int.random(in: 0...most, using: &generator)).map { _ in Value.random(using: &generator) }
        }
        for _ in 0..<300 {
            let (elements, operands) = (random(20), random(20))
            var union = elements
            var keys = Set(elements.map(ValueKey.encode))
            for operand in operands where keys.insert(ValueKey.encode(operand)).inserted { union.append(operand) }
            let removed = Set(operands.map(ValueKey.encode))
            let rest = elements.filter { !removed.contains(ValueKey.encode($0)) }
            func transformed(_ operation: FieldTransform.Operation) -> Value {
                FieldTransform(field, operation).apply(to: .array(elements), at: time).value
            }
            #expect(transformed(.arrayUnion(operands)) == .array(union))
            #expect(transformed(.arrayRemove(operands)) == .array(rest))
        }
    }

    /// Clients that know no finer times find by it exactly the documents that have it.
    @Test func serverTimestampIsTheCommitTimeInMilliseconds() async throws {
        try await withStore { test in
            test.clock.setWall(Timestamp(seconds: 1_795_580_608, nanoseconds: 916_123_000))
            let result = try await test.commit([
                Write(
                    path: try DocumentPath("a/b"), operation: .set([:]),
                    transforms: [FieldTransform(field, .serverTimestamp)])
            ])
            #expect(result.commitTime == Timestamp(seconds: 1_795_580_608, nanoseconds: 916_123_000))
            let time = Value.timestamp(Timestamp(seconds: 1_795_580_608, nanoseconds: 916_000_000))
            #expect(result.writeResults.first?.transformResults == [time])
            #expect(try await test.get("a/b")?.fields["f"] == time)
            #expect(try await test.get("a/b")?.updateTime == result.commitTime)
            var after = Query(collectionID: "a")
            after.orderBy = [Query.Order(field)]
            after.start = Query.Cursor(values: [time], before: false)
            #expect(try await test.query(after).isEmpty)
        }
    }

    @Test func commitTimesGrowThoughTheClockStands() async throws {
        try await withStore { test in
            var last = test.clock.timestamp()
            for i in 0..<5 {
                let time = try await test.set("a/b", ["n": .integer(Int64(i))]).commitTime
                #expect(time > last)
                last = time
            }
        }
    }

    @Test func aWriteThatChangesNothingKeepsTheUpdateTime() async throws {
        try await withStore { test in
            let first = try await test.set("a/b", ["n": .integer(1)])
            let second = try await test.set("a/b", ["n": .integer(1)])
            #expect(second.writeResults[0].updateTime == first.commitTime)
            let third = try await test.set("a/b", ["n": .double(1)])
            #expect(third.commitTime > first.commitTime)
            #expect(try await test.get("a/b")?.createTime == first.commitTime)
        }
    }

    @Test func writesThatTogetherChangeNothingKeepTheUpdateTime() async throws {
        try await withStore { test in
            let path = try DocumentPath("a/b")
            let first = try await test.set("a/b", ["n": .integer(1)])
            let listener = try test.store.listen(to: .documents([path]))
            _ = try await listener.next()
            let back = try await test.commit([
                Write(path: path, operation: .set([:])),
                Write(path: path, operation: .update(["n": .integer(1)], mask: [try FieldPath("n")])),
            ])
            #expect(back.writeResults.map(\.updateTime) == [first.commitTime, first.commitTime])
            #expect(try await test.get("a/b")?.updateTime == first.commitTime)
            // Deleted in between, it is another document.
            let again = try await test.commit([
                Write(path: path, operation: .delete), Write(path: path, operation: .set(["n": .integer(1)])),
            ])
            let document = try #require(await test.get("a/b"))
            #expect(document.createTime == again.commitTime)
            #expect(try await listener.next() == .changes([.modified(document)], at: again.commitTime))
        }
    }

    @Test(arguments: [
        (Value.double(0), Value.double(-0.0)), (.array([.double(-0.0)]), .array([.double(0)])),
    ])
    func theSignOfAZeroIsStored(before: Value, after: Value) async throws {
        try await withStore { test in
            let first = try await test.set("a/b", ["n": before])
            let second = try await test.set("a/b", ["n": after])
            #expect(second.writeResults[0].updateTime != first.commitTime)
            #expect(try await test.get("a/b")?.fields == ["n": after])
        }
    }

    @Test func preconditionsNameTheDocument() async throws {
        try await withStore { test in
            let time = try await test.set("a/there", [:]).commitTime
            func code(_ path: String, _ precondition: Write.Precondition) async throws -> StatusCode? {
                let write = Write(path: try DocumentPath(path), operation: .verify, precondition: precondition)
                let error = await refusal { try await test.commit([write]) }
                if let error { #expect(error.message.contains(path)) }
                return error?.code
            }
            #expect(try await code("a/there", .exists(true)) == nil)
            #expect(try await code("a/there", .exists(false)) == .alreadyExists)
            #expect(try await code("a/gone", .exists(true)) == .notFound)
            #expect(try await code("a/gone", .exists(false)) == nil)
            #expect(try await code("a/there", .updateTime(time)) == nil)
            #expect(try await code("a/there", .updateTime(Timestamp(microseconds: 1))) == .failedPrecondition)
            #expect(try await code("a/gone", .updateTime(time)) == .failedPrecondition)
        }
    }

    @Test func aRefusedWriteTakesTheWholeCommitWithIt() async throws {
        try await withStore { test in
            let writes = try [
                Write(path: DocumentPath("a/one"), operation: .set([:])),
                Write(path: DocumentPath("a/two"), operation: .set([:]), precondition: .exists(true)),
            ]
            #expect(await refusal { try await test.commit(writes) }?.code == .notFound)
            #expect(try await test.get("a/one") == nil)
        }
    }

    @Test func severalWritesToOneDocumentApplyInOrder() async throws {
        try await withStore { test in
            let path = try DocumentPath("a/b")
            let result = try await test.commit([
                Write(path: path, operation: .set(["n": .integer(1)]), precondition: .exists(false)),
                Write(
                    path: path, operation: .update([:], mask: []),
                    transforms: [FieldTransform(try FieldPath("n"), .increment(.integer(1)))],
                    precondition: .exists(true)),
                Write(path: try DocumentPath("a/c"), operation: .set([:])),
                Write(path: try DocumentPath("a/c"), operation: .delete),
            ])
            #expect(result.writeResults.count == 4)
            #expect(try await test.get("a/b")?.fields == ["n": .integer(2)])
            #expect(try await test.get("a/c") == nil)
        }
    }

    /// Whether or not the documents exist, as on Firestore and its emulator.
    @Test func preconditionsThatContradictEachOtherAreInvalid() async throws {
        try await withStore { test in
            let time = try await test.set("a/there", [:]).commitTime
            func writes(_ path: String, _ preconditions: [Write.Precondition?]) throws -> [Write] {
                let path = try DocumentPath(path)
                return preconditions.map { Write(path: path, operation: .set([:]), precondition: $0) }
            }
            let old = Write.Precondition.updateTime(Timestamp(microseconds: 1))
            for path in ["a/there", "a/gone"] {
                for preconditions in [
                    [.exists(true), .exists(false)], [.exists(false), .exists(false)], [nil, .exists(false)],
                    [nil, .updateTime(time)], [.exists(true), .updateTime(time)], [.updateTime(time), old],
                ] as [[Write.Precondition?]] {
                    let all = try writes("a/missing", [.exists(true)]) + writes(path, preconditions)
                    #expect(await refusal { try await test.commit(all) }?.code == .invalidArgument, "\(all)")
                }
                let stale = try writes(path, [old, old])
                #expect(await refusal { try await test.commit(stale) }?.code == .failedPrecondition)
            }
        }
    }

    @Test func severalWritesMayRequireTheSameUpdateTime() async throws {
        try await withStore { test in
            let time = try await test.set("a/b", [:]).commitTime
            let path = try DocumentPath("a/b")
            let preconditions: [(field: String, precondition: Write.Precondition)] = [
                ("x", .updateTime(time)), ("y", .updateTime(time)), ("z", .exists(true)),
            ]
            let writes = try preconditions.map { next in
                Write(
                    path: path, operation: .update([next.field: .null], mask: [try FieldPath(next.field)]),
                    precondition: next.precondition)
            }
            try await test.commit(writes)
            #expect(try await test.get("a/b")?.fields == ["x": .null, "y": .null, "z": .null])
        }
    }

    @Test func limitsAreRefused() async throws {
        try await withStore { test in
            let path = try DocumentPath("a/b")
            let many = Array(repeating: FieldTransform(field, .increment(.integer(1))), count: 251)
            let write = Write(path: path, operation: .set([:]), transforms: many)
            #expect(await refusal { try await test.commit([write, write]) }?.message.contains("500") == true)
            #expect(await refusal { try await test.set("a/b", ["": .null]) }?.code == .invalidArgument)
            let bare = Write(path: path, operation: .verify)
            #expect(await refusal { try await test.commit([bare]) }?.message.contains("precondition") == true)
            let verify = Write(path: path, operation: .verify, precondition: .exists(false))
            #expect(await refusal { try await test.commit([verify, .init(path: path, operation: .delete)]) } != nil)
            let word = FieldTransform(field, .increment(.string("x")))
            let wordWrite = Write(path: path, operation: .set([:]), transforms: [word])
            #expect(await refusal { try await test.commit([wordWrite]) }?.code == .invalidArgument)
            let half = String(repeating: "x", count: 1_000_000)
            let big = try (0..<11).map {
                Write(path: try DocumentPath("a/d\($0)"), operation: .set(["f": .string(half)]))
            }
            #expect(await refusal { try await test.commit(big) }?.message.contains("10 MiB") == true)
        }
    }

    @Test func aMaskMayNameAFieldAndOneInsideIt() async throws {
        try await withStore { test in
            try await test.set("a/b", ["m": .map(["x": .integer(1), "y": .integer(2)]), "n": .map(["z": .null])])
            let fields: [String: Value] = ["m": .map(["x": .integer(5)])]
            let mask = try ["m.x", "m", "n.z", "n", "n"].map { try FieldPath($0) }
            try await test.commit([Write(path: try DocumentPath("a/b"), operation: .update(fields, mask: mask))])
            #expect(try await test.get("a/b")?.fields == fields)
        }
    }

    @Test func timesAreCutToTheMicrosecond() async throws {
        try await withStore { test in
            try await test.set("a/b", ["t": .array([.timestamp(Timestamp(seconds: 1, nanoseconds: 1_999))])])
            #expect(
                try await test.get("a/b")?.fields["t"]
                    == .array([.timestamp(Timestamp(seconds: 1, nanoseconds: 1_000))]))
        }
    }

    @Test(arguments: [20, 21]) func arraysAndMapsInTurnNestTwentyDeep(depth: Int) async throws {
        try await withStore { test in
            func nested(_ depth: Int) -> Value {
                if depth == 0 { return .integer(1) }
                return depth % 2 == 0 ? .array([nested(depth - 1)]) : .map(["m": nested(depth - 1)])
            }
            let error = await refusal { try await test.set("a/b", ["v": nested(depth)]) }
            #expect(error?.code == (depth > 20 ? .invalidArgument : nil))
        }
    }

    @Test func whatNoReadCouldReturnIsRefused() async throws {
        #expect(StoreConfiguration().maxReadBytes >= DocumentLimits.maxWeight)
        try await withStore { test in
            // They count as one byte each, and have no entries in an index.
            let small = Value.array(Array(repeating: .map([:]), count: 500_000))
            let error = await refusal { _ = try await test.set("a/b", ["f": .array([.map(["g": small])])]) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("32 MiB") == true)
        }
    }
}
