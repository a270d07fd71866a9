import StoreTestSupport
import DocumentModel
import DocumentStore
import Testing

/// Field names are bounded, and comparing names gives the same result as comparing their bytes.
struct FieldNameTests {
    /// U+212A, which is equal to "K" in Swift.
    private static let kelvin = "\u{212A}"

    private func refusals(of field: FieldPath) async throws -> [DocumentError?] {
        let test = try TestStore()
        let path = try DocumentPath("a/b")
        var query = Query(collectionID: "a")
        var errors: [DocumentError?] = []
        for write in [
            Write(path: path, operation: .update([:], mask: [field])),
            Write(path: path, operation: .set([:]), transforms: [FieldTransform(field, .increment(.integer(1)))]),
        ] {
            errors.append(await refusal { try await test.commit([write]) })
        }
        query.projection = [field]
        errors.append(await refusal { _ = try await test.query(query) })
        query.projection = nil
        query.orderBy = [Query.Order(field)]
        errors.append(await refusal { _ = try await test.query(query) })
        query.orderBy = []
        query.filter = .field(field, .equal, .null)
        errors.append(await refusal { _ = try await test.query(query) })
        query.filter = nil
        errors.append(await refusal { _ = try await test.store.aggregate(query, [.sum(field)]) })
        await test.store.shutdown()
        return errors
    }

    @Test(arguments: [
        (FieldPath(segments: Array(repeating: "a", count: 22)), "names, more than"),
        (FieldPath(segments: Array(repeating: "a", count: 50_000)), "names, more than"),
        (FieldPath(segments: Array(repeating: String(repeating: "a", count: 750), count: 2)), "1,500 bytes"),
        (FieldPath(segments: [kelvin]), "NFC"),
        (FieldPath(segments: ["a", "e\u{301}"]), "NFC"),
        (FieldPath(segments: ["\u{105D2}\u{307}"]), "Unicode 15"),
    ])
    func pathsBeyondALimitAreRefusedWhereverTheyStand(field: FieldPath, reason: String) async throws {
        for error in try await refusals(of: field) {
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains(reason) == true)
        }
    }

    /// As on Firestore, a transform reaches further than a mask and a query.
    @Test(arguments: [
        FieldPath(segments: Array(repeating: "a", count: 21)),
        FieldPath(segments: [String(repeating: "a", count: 1500)]),
    ])
    func theDeepestFieldsCanOnlyBeTransformed(field: FieldPath) async throws {
        let errors = try await refusals(of: field)
        // The second is the transform's.
        #expect(errors.enumerated().allSatisfy { ($0.element == nil) == ($0.offset == 1) })
    }

    @Test(arguments: [
        FieldPath(segments: Array(repeating: "a", count: 20)),
        FieldPath(segments: [String(repeating: "a", count: 1499)]),
        FieldPath(segments: ["\u{e9}", "Straße", "名前", "이름", "🙂"]),
    ])
    func pathsWithinTheLimitsAreTaken(field: FieldPath) async throws {
        #expect(try await refusals(of: field).allSatisfy { $0 == nil })
    }

    @Test(arguments: [
        [kelvin: Value.null], ["m": .map([kelvin: .null])], ["l": .array([.map([kelvin: .null])])],
    ])
    func namesThatAreNotNormalizedAreRefused(fields: [String: Value]) async throws {
        try await withStore { test in
            #expect(await refusal { try await test.set("a/b", fields) }?.message.contains("NFC") == true)
            var query = Query(collectionID: "a")
            query.filter = .field(try FieldPath("f"), .equal, .map(fields))
            #expect(await refusal { _ = try await test.query(query) }?.message.contains("NFC") == true)
            query.filter = nil
            query.orderBy = [Query.Order(try FieldPath("f"))]
            query.start = Query.Cursor(values: [.map(fields)], before: true)
            #expect(await refusal { _ = try await test.query(query) }?.message.contains("NFC") == true)
        }
    }

    @Test func queriesThatSwiftTakesForEqualAreValidatedEachByItself() async throws {
        try await withStore { test in
            let (composed, decomposed) = ("\u{e9}", "e\u{301}")
            #expect(Query(collectionID: composed) != Query(collectionID: decomposed))
            #expect(FieldPath(segments: [composed]) != FieldPath(segments: [decomposed]))
            for (first, second) in [(composed, decomposed), (decomposed, composed)] {
                let transaction = try await test.begin()
                _ = try await test.query(Query(collectionID: first), in: transaction)
                _ = try await test.query(Query(collectionID: second), in: transaction)
                try await test.set("\(second)/phantom", ["first": .string(first)])
                #expect(await refusal { try await test.set("other/x", [:], in: transaction) }?.code == .aborted)
            }
        }
    }
}
