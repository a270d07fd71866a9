import HostTesting
import DocumentModel
@testable import FirestoreAPI
import HTTPTypes
import Testing

/// Aggregations, explanations, partitions, batches and reads in the past over REST, as requests and responses.
struct DocumentRESTQueriesTests: RESTExchanges {
    private static let query = Query(collectionID: "c")
    private static let from = #""structuredQuery":{"from":[{"collectionId":"c"}]}"#

    private func field(_ dotted: String) throws -> FieldPath { try FieldPath(dotted) }

    @Test func aggregationsAreReturnedUnderTheirAliases() async throws {
        let fields: [AggregateField] = [.count(upTo: 7), .sum(try field("a.b")), .average(try field("`x y`"))]
        let service = ScriptedDocuments([
            .init(
                .aggregate(Self.query, fields, .strong),
                .aggregated([.integer(3), .double(1.5), .null], readTime: Self.time))
        ])
        let aggregations = """
            [{"count":{"upTo":"7"}},{"alias":"s","sum":{"field":{"fieldPath":"a.b"}}},
            {"avg":{"field":{"fieldPath":"`x y`"}}}]
            """
        let answer = try await exchange(
            .post, Self.root + ":runAggregationQuery",
            #"{"structuredAggregationQuery":{\#(Self.from),"aggregations":\#(aggregations)}}"#, of: service)
        #expect(
            answer.body
                == #"[{"result":{"aggregateFields":{"field_1":{"integerValue":"3"},"s":{"doubleValue":1.5},"#
                + #""field_2":{"nullValue":null}}},"readTime":"\#(Self.timeText)"}]"#)
        #expect(service.isDone)
    }

    @Test(arguments: [
        ("[]", "0 aggregations; the maximum number of aggregations is 5"),
        (#"[{"count":{"upTo":-1}}]"#, "upTo must not be negative"),
        (#"[{"count":{},"alias":"a"},{"count":{},"alias":"a"}]"#, #"two aggregations have the alias "a""#),
        (#"[{"count":{},"alias":"__a__"}]"#, "reserved form"),
        (#"[{"sum":{"field":{"fieldPath":"__name__"}}}]"#, "__name__ is not a number"),
        (#"[{"sum":{}}]"#, "needs field"), (#"[{}]"#, "one of count, sum and avg"),
        (#"[{"count":{},"sum":{"field":{"fieldPath":"a"}}}]"#, "this is the second"),
    ])
    func invalidAggregationsAreRefused(aggregations: String, reason: String) async throws {
        let service = ScriptedDocuments()
        let answer = try await exchange(
            .post, Self.root + ":runAggregationQuery",
            #"{"structuredAggregationQuery":{\#(Self.from),"aggregations":\#(aggregations)}}"#, of: service)
        #expect(answer.status == 400)
        #expect(answer.body.contains(JSONQuote.inside(reason)), "\(answer.body)")
        #expect(service.isDone)
    }

    @Test func readTimeReadsAPastState() async throws {
        let past = ReadConsistency.at(Self.time)
        let readTime = #""readTime":"\#(Self.timeText)""#
        let service = ScriptedDocuments([
            .init(.get([try Self.path("c/a")], past), .documents([nil], readTime: Self.time)),
            .init(.get([try Self.path("c/a")], past), .documents([nil], readTime: Self.time)),
            .init(.query(Self.query, past), .results([], readTime: Self.time)),
            .init(.aggregate(Self.query, [.count(upTo: nil)], past), .aggregated([.integer(0)], readTime: Self.time)),
            .init(.partition(Self.query, points: 1, past), .partitioned([], readTime: Self.time)),
            .init(.begin(.readOnly(at: Self.time)), .began(TransactionID(rawValue: 1))),
        ])
        let get = try await exchange(.get, Self.root + "/c/a?readTime=\(Self.timeText)", of: service)
        #expect(get.status == 404)
        for (verb, body) in [
            (":batchGet", #"{"documents":["\#(Self.name)/c/a"],\#(readTime)}"#),
            (":runQuery", "{\(Self.from),\(readTime)}"),
            (
                ":runAggregationQuery",
                #"{"structuredAggregationQuery":{\#(Self.from),"aggregations":[{"count":{}}]},\#(readTime)}"#
            ),
            (":partitionQuery", #"{\#(Self.from),"partitionCount":1,\#(readTime)}"#),
            (":beginTransaction", #"{"options":{"readOnly":{\#(readTime)}}}"#),
        ] {
            #expect(try await exchange(.post, Self.root + verb, body, of: service).status == 200, "\(verb)")
        }
        #expect(service.isDone)
        let both = try await exchange(
            .post, Self.root + ":runQuery", #"{\#(Self.from),\#(readTime),"newTransaction":{}}"#, of: service)
        #expect(both.status == 400 && both.body.contains("exclude each other"))
    }

    @Test func explanationsFollowTheResults() async throws {
        let cost = QueryExplanation.Cost(
            documentsReturned: 1, indexEntriesRead: 2, documentsRead: 3, microseconds: 1_000_500)
        let explanation = QueryExplanation(
            indexes: [.init(scope: "Collection", properties: "(a ASC, __name__ ASC)")], steps: ["a step"], cost: cost,
            suggestedIndex: "{}")
        let document = try Self.document("c/a", [:])
        let service = ScriptedDocuments([
            .init(
                .explain(Self.query, [], analyze: true, .strong),
                .explained(explanation, results: [document], values: [], readTime: Self.time)),
            .init(
                .explain(Self.query, [], analyze: false, .strong),
                .explained(
                    QueryExplanation(indexes: [], steps: []), results: [], values: [], readTime: Self.time)),
        ])
        let analyzed = try await exchange(
            .post, Self.root + ":runQuery", #"{\#(Self.from),"explainOptions":{"analyze":true}}"#, of: service)
        #expect(
            analyzed.body
                == #"[{"document":\#(Self.json("c/a", "{}")),"#
                + #""explainMetrics":{"planSummary":{"indexesUsed":[{"query_scope":"Collection","#
                + #""properties":"(a ASC, __name__ ASC)"}],"steps":["a step"],"suggested_index":"{}"},"executionStats":{"resultsReturned":"1","#
                + #""executionDuration":"1.000500s","readOperations":"1","debugStats":{"#
                + #""index_entries_scanned":"2","documents_scanned":"3"}}},"readTime":"\#(Self.timeText)"}]"#)
        let planned = try await exchange(
            .post, Self.root + ":runQuery", #"{\#(Self.from),"explainOptions":{}}"#, of: service)
        #expect(planned.body == #"[{"explainMetrics":{"planSummary":{"indexesUsed":[],"steps":[]}}}]"#)
        #expect(service.isDone)
    }

    @Test func partitionsAreReturnedPageByPage() async throws {
        let points = try ["c/b", "c/d", "c/f"].map { try Self.path($0) }
        let step = ScriptedDocuments.Step(
            .partition(Self.query, points: 3, .strong), .partitioned(points, readTime: Self.time))
        let service = ScriptedDocuments([step, step])
        func cursor(_ path: String) -> String {
            #"{"values":[{"referenceValue":"\#(Self.name)/\#(path)"}],"before":true}"#
        }
        let first = try await exchange(
            .post, Self.root + ":partitionQuery", #"{\#(Self.from),"partitionCount":"3","pageSize":2}"#, of: service)
        let token = PageToken.text([
            .reference(DocumentName(database: .init(project: "demo-shop"), path: points[1]))
        ])
        #expect(
            first.body
                == #"{"partitions":[\#(cursor("c/b")),\#(cursor("c/d"))],"nextPageToken":"\#(token)"}"#)
        let second = try await exchange(
            .post, Self.root + ":partitionQuery",
            #"{\#(Self.from),"partitionCount":3,"pageSize":2,"pageToken":"\#(token)"}"#, of: service)
        #expect(second.body == #"{"partitions":[\#(cursor("c/f"))]}"#)
        #expect(service.isDone)
    }

    @Test func eachWriteOfABatchHasItsStatus() async throws {
        let writes = try ["c/a", "c/b"].map { Write(path: try Self.path($0), operation: .delete) }
        let results: [Result<WriteResult, DocumentError>] = [
            .success(WriteResult(updateTime: Self.time, transformResults: [])),
            .failure(DocumentError(.notFound, "there is none")),
        ]
        let service = ScriptedDocuments([.init(.batchWrite(writes), .written(results))])
        let answer = try await exchange(
            .post, Self.root + ":batchWrite",
            #"{"writes":[{"delete":"\#(Self.name)/c/a"},{"delete":"\#(Self.name)/c/b"}],"labels":{}}"#, of: service)
        #expect(
            answer.body
                == #"{"writeResults":[{"updateTime":"\#(Self.timeText)"},{}],"#
                + #""status":[{},{"code":5,"message":"there is none"}]}"#)
        #expect(service.isDone)
    }

    @Test(arguments: [
        (#""orderBy":[{"field":{"fieldPath":"a-b"}}]"#, "put it in backticks"),
        (#""orderBy":[{"field":{"fieldPath":"0"}}]"#, "put it in backticks"),
        (#""startAt":{"values":[{"nullValue":null}]}"#, "the query has only 0 explicit orders"),
        (
            #""orderBy":[{"field":{"fieldPath":"__name__"}}],"startAt":{"values":[{"stringValue":"a"}]}"#,
            "document names, as referenceValue"
        ),
        (
            #""where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"EQUAL","value":"#
                + #"{"referenceValue":"projects/other/databases/(default)/documents/c/a"}}}"#,
            "is not in the database of the request"
        ),
    ])
    func queriesThatOnlyTheStoreAcceptsAreRefused(part: String, reason: String) async throws {
        let service = ScriptedDocuments()
        let answer = try await exchange(
            .post, Self.root + ":runQuery", #"{"structuredQuery":{"from":[{"collectionId":"c"}],\#(part)}}"#,
            of: service)
        #expect(answer.status == 400 && answer.body.contains(reason), "\(answer.body)")
        #expect(service.isDone)
    }
}

/// A message as it is escaped in a JSON string.
private enum JSONQuote {
    static func inside(_ text: String) -> String {
        text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
    }
}
