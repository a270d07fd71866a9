import DocumentModel
@testable import GoogleREST
@testable import FirestoreJSON
import StrictJSON
import Testing

/// Our API can read the requests that we send to remote services, and vice versa.
struct RESTCodecTests {
    private static let database = DatabaseID(project: "demo-shop")

    private static func node(_ write: (inout JSONWriter) -> Void) throws -> JSONNode {
        var text = JSONWriter()
        write(&text)
        return try JSONNode(parsing: text.bytes)
    }

    private static func path(_ path: String) throws -> DocumentPath { try DocumentPath(path) }

    static func queries() throws -> [Query] {
        let odd = FieldPath(segments: ["a.b", "c`\\d", "0"])
        let name = Value.reference(DocumentName(database: database, path: try path("users/ada")))
        var all = Query(parent: try path("users/ada"), collectionID: "orders", allDescendants: true)
        all.filter = .and([
            .or([.field(odd, .in, .array([.integer(1), .null])), .unary(odd, .isNotNaN)]),
            .field(.documentID, .greaterThan, name),
        ])
        all.orderBy = [.init(odd, descending: true), .init(.documentID, descending: true)]
        all.start = .init(values: [.double(.nan), name], before: true)
        all.end = .init(values: [.string("é\"")], before: false)
        all.offset = 3
        all.limit = 0
        all.projection = [odd, .documentID]
        var queries = [Query(collectionID: "c"), all]
        for comparison in Query.Operator.allCases {
            var query = Query(collectionID: "c")
            query.filter = .field(odd, comparison, .array([.integer(1)]))
            queries.append(query)
        }
        for test in Query.UnaryOperator.allCases {
            var query = Query(collectionID: "c")
            query.filter = .unary(odd, test)
            queries.append(query)
        }
        return queries
    }

    @Test func queriesAreReadAsTheyWereWritten() throws {
        for query in try Self.queries() {
            let read = try Self.node { $0.structuredQuery(query) }.structuredQuery(parent: query.parent)
            #expect(read == query)
        }
    }

    @Test(arguments: VectorSearch.Measure.allCases, [nil, 0.5, -1.5e300] as [Double?])
    func searchesAreReadAsTheyWereWritten(measure: VectorSearch.Measure, threshold: Double?) throws {
        let search = try VectorSearch(
            field: FieldPath(segments: ["a.b", "c"]), vector: [1, -0.5, .infinity], measure: measure, limit: 1000,
            resultField: threshold.map { _ in "a.b" }, threshold: threshold)
        for query in try Self.queries() {
            let node = try Self.node { $0.structuredQuery(query, nearest: search) }
            let read = try node.structuredSearch(parent: query.parent)
            #expect(read.query == query)
            #expect(read.nearest == search)
        }
    }

    private static let comparisons: [(number: Int, name: Query.Operator)] = [
        (1, .lessThan), (2, .lessThanOrEqual), (3, .greaterThan), (4, .greaterThanOrEqual), (5, .equal),
        (6, .notEqual), (7, .arrayContains), (8, .in), (9, .arrayContainsAny), (10, .notIn),
    ]
    private static let tests: [(number: Int, name: Query.UnaryOperator)] = [
        (2, .isNaN), (3, .isNull), (4, .isNotNaN), (5, .isNotNull),
    ]

    /// Google's library for Node sends numbers by REST, with `preferRest`.
    @Test func valuesOfEnumsAreNamedByTheirNumbers() throws {
        let field = FieldPath(segments: ["a"])
        let place = #""field":{"fieldPath":"a"}"#
        func query(_ filter: String) throws -> Query {
            let order = #"[{\#(place),"direction":2},{"field":{"fieldPath":"b"},"direction":1}]"#
            let text = #"{"from":[{"collectionId":"c"}],"where":{\#(filter)},"orderBy":\#(order)}"#
            return try JSONNode(parsing: Array(text.utf8)).structuredQuery(parent: nil)
        }
        for (number, name) in Self.comparisons {
            let read = try query(#""fieldFilter":{\#(place),"op":\#(number),"value":{"arrayValue":{}}}"#)
            #expect(read.filter == .field(field, name, .array([])))
            #expect(read.orderBy.map(\.descending) == [true, false])
        }
        for (number, name) in Self.tests {
            let test = #""unaryFilter":{\#(place),"op":\#(number)}"#
            #expect(try query(test).filter == .unary(field, name))
            let all = try query(#""compositeFilter":{"op":1,"filters":[{\#(test)}]}"#)
            #expect(all.filter == .and([.unary(field, name)]))
            let one = try query(#""compositeFilter":{"op":2,"filters":[{\#(test)}]}"#)
            #expect(one.filter == .or([.unary(field, name)]))
        }
        for number in [-1, 0, 1, 6] {
            #expect(throws: JSONProblem.self) { try query(#""unaryFilter":{\#(place),"op":\#(number)}"#) }
        }
    }

    @Test func aServerTimestampIsNamedByItsNumber() throws {
        func write(_ number: Int) throws -> Write {
            let name = "projects/demo-shop/databases/(default)/documents/c/d"
            let transform = #"{"fieldPath":"a","setToServerValue":\#(number)}"#
            let text = #"{"update":{"name":"\#(name)","fields":{}},"updateTransforms":[\#(transform)]}"#
            return try RESTWriteReader(database: Self.database).write(try JSONNode(parsing: Array(text.utf8)))
        }
        #expect(try write(1).transforms == [FieldTransform(FieldPath(segments: ["a"]), .serverTimestamp)])
        #expect(throws: JSONProblem.self) { try write(0) }
    }

    @Test func aggregationsAreReadAsTheyWereWritten() throws {
        let field = FieldPath(segments: ["a.b"])
        let fields: [AggregateField] = [.count(upTo: nil), .count(upTo: 7), .sum(field), .average(field)]
        for query in try Self.queries() {
            let read = try Self.node { $0.aggregation(query, fields) }.aggregation(parent: query.parent)
            #expect(read.query == query)
            #expect(read.fields == fields)
            #expect(read.aliases == fields.indices.map(RESTAggregation.alias))
        }
    }

    @Test func writesAreReadAsTheyWereWritten() throws {
        let odd = FieldPath(segments: ["a.b", "c"])
        let time = Timestamp(microseconds: 1_000_001)
        let transforms = [
            FieldTransform(odd, .serverTimestamp), FieldTransform(odd, .increment(.integer(-1))),
            FieldTransform(odd, .maximum(.double(1.5))), FieldTransform(odd, .minimum(.double(.infinity))),
            FieldTransform(odd, .arrayUnion([.null, .map([:])])), FieldTransform(odd, .arrayRemove([])),
        ]
        let fields: [String: Value] = ["a.b": .map(["c": .bytes([0xFB])]), "": .array([])]
        let operations: [Write.Operation] = [
            .set(fields), .set([:]), .update(fields, mask: [odd, FieldPath(segments: ["x"])]), .update([:], mask: []),
            .delete, .verify,
        ]
        let preconditions: [Write.Precondition?] = [nil, .exists(true), .exists(false), .updateTime(time)]
        for operation in operations {
            for precondition in preconditions {
                for transforms in [[], transforms] {
                    let write = Write(
                        path: try Self.path("c/ü"), operation: operation, transforms: transforms,
                        precondition: precondition)
                    let node = try Self.node { $0.write(write, in: Self.database) }
                    #expect(try RESTWriteReader(database: Self.database).write(node) == write)
                }
            }
        }
    }

    @Test func documentsAndResultsAreReadAsTheyWereWritten() throws {
        let time = Timestamp(microseconds: 1_000_001)
        let document = Document(
            path: try Self.path("c/ü"), fields: ["a": .geoPoint(GeoPoint(latitude: 1, longitude: 2))],
            createTime: time, updateTime: Timestamp(microseconds: 2_000_000))
        let node = try Self.node { $0.document(document, in: Self.database) }
        #expect(try RESTWriteReader(database: Self.database).stored(node) == document)
        let write = Write(path: document.path, operation: .set([:]))
        for result in [
            WriteResult(updateTime: time, transformResults: [.integer(3), .null]),
            WriteResult(updateTime: nil, transformResults: []),
        ] {
            #expect(try Self.node { $0.writeResult(result) }.writeResult(of: write) == result)
        }
        let timed = try Self.node { $0.writeResult(WriteResult(updateTime: time, transformResults: [])) }
        #expect(try timed.writeResult(of: Write(path: document.path, operation: .delete)).updateTime == nil)
    }

    @Test func explanationsAreReadAsTheyWereWritten() throws {
        let planned = QueryExplanation(
            indexes: [.init(scope: "Collection", properties: "(a ASC)")], steps: ["one", "two"], suggestedIndex: "{}")
        var run = planned
        run.cost = .init(documentsReturned: 4, indexEntriesRead: 5, documentsRead: 6, microseconds: 1_000_700)
        for explanation in [planned, run, QueryExplanation(indexes: [], steps: [])] {
            let node = try Self.node { $0.explainElement(explanation, isAggregation: false) }
            let metrics = try #require(node["explainMetrics"])
            #expect(try QueryExplanation(rest: metrics) == explanation)
        }
    }

    @Test func transactionOptionsAreReadAsTheyWereWritten() throws {
        let id = TransactionID(rawValue: 77)
        for mode in [
            TransactionMode.readWrite(retrying: nil), .readWrite(retrying: id), .readOnly(at: nil),
            .readOnly(at: Timestamp(microseconds: 5)),
        ] {
            let retrying = if case .readWrite(let retried) = mode { retried?.restBytes } else { nil as [UInt8]? }
            #expect(
                try Self.node { $0.transactionOptions(mode, retrying: retrying) }.transactionMode(
                    default: .readOnly(at: nil)) == mode)
        }
    }

    @Test func errorsAreReadAsTheyWereWritten() throws {
        for code in StatusCode.allCases where code != .ok {
            let error = DocumentError(code, "why")
            #expect(try Self.node { $0.error(error) }.error == error)
        }
    }

    @Test(arguments: [
        (#"{"error":{"code":409}}"#, StatusCode.aborted),
        (#"[{"error":{"code":404,"message":"no","status":"NOT_FOUND"}}]"#, .notFound),
        (#"{"error":{"status":"NEW_ONE","code":503}}"#, .unavailable), (#"{"error":{}}"#, .unknown),
        (#"{"error":{"code":"x"}}"#, .unknown), (#"{"error":{"code":99999999999}}"#, .unknown),
    ])
    func incompleteErrorsHaveACodeToo(text: String, code: StatusCode) throws {
        #expect(try JSONNode(parsing: Array(text.utf8)).error?.code == code)
    }

    @Test func otherResponsesContainNoError() throws {
        for text in ["[]", "{}", "7", #"[{"document":{}}]"#] {
            #expect(try JSONNode(parsing: Array(text.utf8)).error == nil)
        }
    }
}
