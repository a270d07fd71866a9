import HostTesting
import DocumentModel
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import StrictJSON
import Testing

/// The REST API as exchanges: a request, the operation that it leads to, and the response.
struct DocumentRESTTests: RESTExchanges {
    // MARK: Documents

    @Test func getReturnsTheDocument() async throws {
        let service = ScriptedDocuments([
            .init(
                .get([try Self.path("users/a:b c")], .strong),
                .documents([try Self.document("users/a:b c", ["n": .integer(1)])], readTime: Self.time))
        ])
        let answer = try await exchange(.get, Self.root + "/users/a:b%20c", of: service)
        #expect(answer == RESTAnswer(status: 200, body: Self.json("users/a:b c", #"{"n":{"integerValue":"1"}}"#)))
        #expect(service.isDone)
    }

    @Test func getInATransactionReturnsTheMaskedFields() async throws {
        let fields: [String: Value] = ["a": .map(["b": .integer(1), "c": .integer(2)]), "d": .null]
        let service = ScriptedDocuments([
            .init(
                .get([try Self.path("u/a")], .transaction(TransactionID(rawValue: 258))),
                .documents([try Self.document("u/a", fields)], readTime: Self.time))
        ])
        let answer = try await exchange(
            .get, Self.root + "/u/a?mask.fieldPaths=a.b&mask.fieldPaths=x&transaction=AAAAAAAAAQI%3D&key=k",
            of: service)
        #expect(answer.body == Self.json("u/a", #"{"a":{"mapValue":{"fields":{"b":{"integerValue":"1"}}}}}"#))
    }

    @Test func getOfAMissingDocumentIsNotFound() async throws {
        let service = ScriptedDocuments([
            .init(.get([try Self.path("u/a")], .strong), .documents([nil], readTime: Self.time))
        ])
        let answer = try await exchange(.get, Self.root + "/u/a", of: service)
        #expect(answer == .error(.notFound, "Document \"\(Self.name)/u/a\" not found."))
    }

    @Test func createSetsADocumentThatMustNotExist() async throws {
        let write = Write(path: try Self.path("u/a"), operation: .set(["n": .null]), precondition: .exists(false))
        let service = ScriptedDocuments([
            .init(
                .commit([write], transaction: nil),
                Self.committed(WriteResult(updateTime: Self.time, transformResults: [])))
        ])
        let answer = try await exchange(
            .post, Self.root + "/u?documentId=a", #"{"fields":{"n":{"nullValue":null}}}"#, of: service)
        #expect(answer == RESTAnswer(status: 200, body: Self.json("u/a", #"{"n":{"nullValue":null}}"#)))
    }

    @Test func patchUpdatesWithAMaskAndSetsWithoutOne() async throws {
        let result = Self.committed(WriteResult(updateTime: Self.time, transformResults: []))
        let read = ScriptedDocuments.Call.get([try Self.path("u/a")], .at(Self.time))
        let after = ScriptedDocuments.Answer.documents([try Self.document("u/a", ["n": .null])], readTime: Self.time)
        let ada = Principal.client(ClientIdentity(uid: "ada"))
        let service = ScriptedDocuments([
            .init(
                .commit(
                    [
                        Write(
                            path: try Self.path("u/a"),
                            operation: .update(["n": .null], mask: [try FieldPath("n"), try FieldPath("x.`y z`")]),
                            precondition: .updateTime(Self.time))
                    ], transaction: nil), as: ada, result),
            .init(read, as: ada, after),
            .init(
                .commit(
                    [Write(path: try Self.path("u/a"), operation: .set(["n": .null]))],
                    transaction: nil), as: ada, result),
            .init(read, as: ada, after),
        ])
        let body = #"{"name":"\#(Self.name)/u/a","fields":{"n":{"nullValue":null}}}"#
        for query in [
            "?updateMask.fieldPaths=n&updateMask.fieldPaths=x.%60y+z%60&"
                + "currentDocument.updateTime=\(Self.timeText)",
            "",
        ] {
            let answer = try await exchange(
                .patch, Self.root + "/u/a" + query, body, headers: [.authorization: "bearer ada-token"], of: service)
            #expect(answer == RESTAnswer(status: 200, body: Self.json("u/a", #"{"n":{"nullValue":null}}"#)))
        }
        #expect(service.isDone)
    }

    /// It learns no field that the rules hide from it.
    @Test func whoMayWriteButNotReadSeesWhatWasWritten() async throws {
        let ada = Principal.client(ClientIdentity(uid: "ada"))
        let path = try Self.path("u/a")
        let write = Write(path: path, operation: .update(["n": .null, "m": .null], mask: [try FieldPath("n")]))
        let service = ScriptedDocuments([
            .init(
                .commit([write], transaction: nil), as: ada,
                Self.committed(WriteResult(updateTime: Self.time, transformResults: []))),
            .init(.get([path], .at(Self.time)), as: ada, .failed(DocumentError(.permissionDenied, "no"))),
            // For the time of its creation.
            .init(
                .get([path], .at(Self.time)), as: .admin, .failed(DocumentError(.unavailable, "the store is full"))),
        ])
        let answer = try await exchange(
            .patch, Self.root + "/u/a?updateMask.fieldPaths=n",
            #"{"fields":{"n":{"nullValue":null},"m":{"nullValue":null}}}"#,
            headers: [.authorization: "bearer ada-token"], of: service)
        #expect(answer == RESTAnswer(status: 200, body: Self.json("u/a", #"{"n":{"nullValue":null}}"#)))
        #expect(service.isDone)
    }

    @Test func deletePassesOnItsPrecondition() async throws {
        let write = Write(path: try Self.path("u/a"), operation: .delete, precondition: .exists(true))
        let refused = DocumentError(.notFound, "no document u/a")
        let service = ScriptedDocuments([
            .init(
                .commit([write], transaction: nil),
                Self.committed(WriteResult(updateTime: nil, transformResults: []))),
            .init(.commit([write], transaction: nil), .failed(refused)),
        ])
        let path = Self.root + "/u/a?currentDocument.exists=true"
        #expect(try await exchange(.delete, path, of: service) == RESTAnswer(status: 200, body: "{}"))
        #expect(try await exchange(.delete, path, of: service) == .error(.notFound, "no document u/a"))
    }

    @Test func listContinuesFromItsPageToken() async throws {
        var query = Query(collectionID: "u")
        query.orderBy = [.init(try FieldPath("n"), descending: true), .init(.documentID, descending: true)]
        query.limit = 2
        var next = query
        let last = DocumentName(database: DatabaseID(project: "demo-shop"), path: try Self.path("u/b"))
        next.start = .init(values: [.integer(2), .reference(last)], before: false)
        let service = ScriptedDocuments([
            .init(
                .query(query, .strong),
                .results(
                    [try Self.document("u/b", ["n": .integer(2)]), try Self.document("u/a", ["n": .integer(1)])],
                    readTime: Self.time)),
            .init(
                .query(next, .strong),
                .results([try Self.document("u/a", ["n": .integer(1)])], readTime: Self.time)),
        ])
        let url = Self.root + "/u?pageSize=1&orderBy=n%20desc&mask.fieldPaths=x"
        let first = try await exchange(.get, url, of: service)
        let token = try #require(
            try JSONNode(parsing: Array(first.body.utf8))["nextPageToken"]?.string())
        #expect(first.body.hasPrefix("{\"documents\":[\(Self.json("u/b", "{}"))],"))
        let encoded = token.map { $0 == "+" ? "%2B" : $0 == "/" ? "%2F" : $0 == "=" ? "%3D" : "\($0)" }.joined()
        let second = try await exchange(.get, url + "&pageToken=" + encoded, of: service)
        #expect(second.body == "{\"documents\":[\(Self.json("u/a", "{}"))]}")
        #expect(service.isDone)
    }

    @Test func aListIsOrderedByNamesInBackticks() async throws {
        var query = Query(collectionID: "u")
        query.orderBy = [
            .init(FieldPath(segments: ["a b,`"]), descending: true), .init(try FieldPath("n")), .init(.documentID),
        ]
        query.limit = 101
        let service = ScriptedDocuments([.init(.query(query, .strong), .results([], readTime: Self.time))])
        let answer = try await exchange(
            .get, Self.root + "/u?orderBy=%60a%20b%2C%5C%60%60%20desc%2Cn", of: service)
        #expect(answer == RESTAnswer(status: 200, body: "{}"))
        #expect(service.isDone)
    }

    // MARK: Verbs

    @Test func commitReadsEveryKindOfWrite() async throws {
        let writes = [
            Write(
                path: try Self.path("u/a"), operation: .set(["n": .null]),
                transforms: [
                    .init(try FieldPath("t"), .serverTimestamp), .init(try FieldPath("i"), .increment(.integer(1))),
                    .init(try FieldPath("x"), .maximum(.double(1))), .init(try FieldPath("m"), .minimum(.integer(2))),
                    .init(try FieldPath("l"), .arrayUnion([.null])), .init(try FieldPath("r"), .arrayRemove([])),
                ], precondition: .exists(true)),
            Write(path: try Self.path("u/a"), operation: .update([:], mask: [])),
            Write(path: try Self.path("u/b"), operation: .delete),
            Write(path: try Self.path("u/c"), operation: .verify, precondition: .updateTime(Self.time)),
            Write(
                path: try Self.path("u/d"), operation: .update([:], mask: []),
                transforms: [.init(try FieldPath("i"), .increment(.integer(1)))]),
        ]
        let service = ScriptedDocuments([
            .init(
                .commit(writes, transaction: TransactionID(rawValue: 1)),
                Self.committed(
                    WriteResult(updateTime: Self.time, transformResults: [.integer(4), .null]),
                    WriteResult(updateTime: nil, transformResults: [])))
        ])
        let answer = try await exchange(
            .post, Self.root + ":commit",
            """
            {"writes":[{"update":{"name":"\(Self.name)/u/a","fields":{"n":{"nullValue":null}}},"updateTransforms":[
            {"fieldPath":"t","setToServerValue":"REQUEST_TIME"},{"fieldPath":"i","increment":{"integerValue":"1"}},
            {"fieldPath":"x","maximum":{"doubleValue":1}},{"fieldPath":"m","minimum":{"integerValue":2}},
            {"fieldPath":"l","appendMissingElements":{"values":[{"nullValue":null}]}},
            {"fieldPath":"r","removeAllFromArray":{}}],"currentDocument":{"exists":true}},
            {"update":{"name":"\(Self.name)/u/a"},"updateMask":{}},{"delete":"\(Self.name)/u/b"},
            {"verify":"\(Self.name)/u/c","currentDocument":{"updateTime":"\(Self.timeText)"}},
            {"transform":{"document":"\(Self.name)/u/d","fieldTransforms":
            [{"fieldPath":"i","increment":{"integerValue":1}}]}}],
            "transaction":"AAAAAAAAAAE="}
            """, headers: [.authorization: "Bearer owner", .contentType: "text/plain"], of: service)
        #expect(
            answer.body == "{\"writeResults\":[{\"updateTime\":\"\(Self.timeText)\",\"transformResults\":"
                + "[{\"integerValue\":\"4\"},{\"nullValue\":null}]},{}],\"commitTime\":\"\(Self.timeText)\"}")
    }

    @Test func batchGetBeginsItsTransaction() async throws {
        let transaction = TransactionID(rawValue: 1)
        let paths = [try Self.path("u/a"), try Self.path("u/b")]
        let service = ScriptedDocuments([
            .init(.begin(.readWrite(retrying: TransactionID(rawValue: 7))), .began(transaction)),
            .init(
                .get(paths, ReadConsistency(transaction: transaction)),
                .documents([try Self.document("u/a", [:]), nil], readTime: Self.time)),
        ])
        let answer = try await exchange(
            .post, Self.root + ":batchGet",
            """
            {"documents":["\(Self.name)/u/a","\(Self.name)/u/b"],
            "newTransaction":{"readWrite":{"retryTransaction":"AAAAAAAAAAc="}}}
            """, of: service)
        #expect(
            answer.body == "[{\"transaction\":\"AAAAAAAAAAE=\"},{\"found\":\(Self.json("u/a", "{}")),"
                + "\"readTime\":\"\(Self.timeText)\"},{\"missing\":\"\(Self.name)/u/b\","
                + "\"readTime\":\"\(Self.timeText)\"}]")
    }

    @Test func batchGetAnswersANameThatIsRepeatedOnce() async throws {
        let paths = [try Self.path("u/b"), try Self.path("u/a")]
        let service = ScriptedDocuments([
            .init(.get(paths, .strong), .documents([nil, try Self.document("u/a", [:])], readTime: Self.time))
        ])
        let names = ["u/b", "u/a", "u/b", "u/a"].map { "\"\(Self.name)/\($0)\"" }.joined(separator: ",")
        let answer = try await exchange(.post, Self.root + ":batchGet", "{\"documents\":[\(names)]}", of: service)
        #expect(
            answer.body == "[{\"missing\":\"\(Self.name)/u/b\",\"readTime\":\"\(Self.timeText)\"},"
                + "{\"found\":\(Self.json("u/a", "{}")),\"readTime\":\"\(Self.timeText)\"}]")
    }

    @Test func aTransactionWhoseFirstReadFailsIsRolledBack() async throws {
        let refused = DocumentError(.permissionDenied, "no")
        let service = ScriptedDocuments([
            .init(.begin(.readOnly(at: nil)), .began(TransactionID(rawValue: 1))),
            .init(.get([try Self.path("u/a")], .transaction(TransactionID(rawValue: 1))), .failed(refused)),
            .init(.rollback(TransactionID(rawValue: 1)), .rolledBack),
        ])
        let answer = try await exchange(
            .post, Self.root + ":batchGet",
            "{\"documents\":[\"\(Self.name)/u/a\"],\"newTransaction\":{\"readOnly\":{}}}", of: service)
        #expect(answer == .error(.permissionDenied, "no"))
        #expect(service.isDone)
    }

    @Test func runQueryReadsAStructuredQuery() async throws {
        var query = Query(parent: try Self.path("users/ada"), collectionID: "orders", allDescendants: true)
        query.filter = .and([
            .field(try FieldPath("n"), .in, .array([.integer(1)])),
            .or([.unary(try FieldPath("x"), .isNaN), .field(try FieldPath("t"), .arrayContains, .string("a"))]),
        ])
        query.orderBy = [.init(try FieldPath("n"), descending: true), .init(.documentID)]
        query.start = .init(values: [.integer(5)], before: true)
        query.end = .init(values: [.integer(1)], before: false)
        query.offset = 2
        query.limit = 10
        query.projection = [try FieldPath("n")]
        let service = ScriptedDocuments([
            .init(
                .query(query, .strong), as: .client(nil),
                .results([try Self.document("users/ada/orders/1", [:])], readTime: Self.time)),
            // Fewer may have been skipped than the offset says.
            .init(.query(query, .strong), as: .client(nil), .results([], readTime: Self.time)),
        ])
        for limit in ["10", "{\"value\":10}"] {
            let answer = try await exchange(
                .post, Self.root + "/users/ada:runQuery",
                """
                {"structuredQuery":{"from":[{"collectionId":"orders","allDescendants":true}],"where":{"compositeFilter":
                {"op":"AND","filters":[{"fieldFilter":{"field":{"fieldPath":"n"},"op":"IN","value":{"arrayValue":
                {"values":[{"integerValue":"1"}]}}}},{"compositeFilter":{"op":"OR","filters":[{"unaryFilter":{"op":
                "IS_NAN","field":{"fieldPath":"x"}}},{"fieldFilter":{"field":{"fieldPath":"t"},"op":"ARRAY_CONTAINS",
                "value":{"stringValue":"a"}}}]}}]}},"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"},
                {"field":{"fieldPath":"__name__"}}],"startAt":{"values":[{"integerValue":5}],"before":true},"endAt":
                {"values":[{"integerValue":1}]},"offset":2,"limit":\(limit),"select":{"fields":[{"fieldPath":"n"}]}}}
                """, headers: [:], of: service)
            #expect(
                answer.body
                    == (limit == "10"
                        ? "[{\"document\":\(Self.json("users/ada/orders/1", "{}")),\"readTime\":\"\(Self.timeText)\","
                            + "\"skippedResults\":2}]"
                        : "[{\"readTime\":\"\(Self.timeText)\"}]"))
        }
    }

    @Test func transactionsBeginAndEnd() async throws {
        let service = ScriptedDocuments([
            .init(.begin(.readWrite(retrying: nil)), .began(TransactionID(rawValue: .max))),
            .init(.rollback(TransactionID(rawValue: .max)), .rolledBack),
        ])
        let begun = try await exchange(.post, Self.root + ":beginTransaction", "{}", of: service)
        #expect(begun.body == #"{"transaction":"//////////8="}"#)
        let ended = try await exchange(.post, Self.root + ":rollback", #"{"transaction":"__________8"}"#, of: service)
        #expect(ended.body == "{}")
    }

    @Test func collectionsAreListedPageByPage() async throws {
        let service = ScriptedDocuments(collections: ["a", "b", "c"])
        let path = Self.root + ":listCollectionIds"
        let first = try await exchange(.post, path, #"{"pageSize":2}"#, of: service)
        let token = try #require(try JSONNode(parsing: Array(first.body.utf8))["nextPageToken"]?.string())
        #expect(first.body.hasPrefix(#"{"collectionIds":["a","b"],"#))
        let second = try await exchange(.post, path, "{\"pageToken\":\"\(token)\"}", of: service)
        #expect(second.body == #"{"collectionIds":["c"]}"#)
    }
}
