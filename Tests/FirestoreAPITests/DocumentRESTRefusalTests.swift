import HostTesting
import DocumentModel
import FirestoreJSON
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import StrictJSON
import Testing

/// Requests that the REST API refuses, and clients that it accepts.
struct DocumentRESTRefusalTests: RESTExchanges {
    @Test(arguments: [
        (
            ":commit", "{\"writes\":[", StatusCode.invalidArgument,
            "the body, line 1, column 12: the text ends where a value should be"
        ),
        (":commit", "{\"write\":[]}", .invalidArgument, "write: unknown key"),
        (
            ":commit", "{\"writes\":[{}]}",
            .invalidArgument,
            "writes[0]: a write needs one of update, delete, verify and transform"
        ),
        (
            ":commit", "{\"writes\":[{\"delete\":\"projects/other/databases/(default)/documents/u/a\"}]}",
            .invalidArgument,
            "writes[0].delete: \"projects/other/databases/(default)/documents/u/a\" is not in this database, "
                + "projects/demo-shop/databases/(default)"
        ),
        (
            ":commit", "{\"writes\":[{\"delete\":\"\(name)/u/a\",\"verify\":\"\(name)/u/a\"}]}",
            .invalidArgument,
            "writes[0].verify: a write has only one operation; this is the second"
        ),
        (
            ":commit", "{\"writes\":[{\"delete\":\"\(name)/u/a\",\"updateMask\":{}}]}",
            .invalidArgument,
            "writes[0]: only an update has an updateMask"
        ),
        (":runQuery", "{}", .invalidArgument, "a request needs its structuredQuery"),
        (
            ":runQuery", "{\"structuredQuery\":{\"from\":[{\"collectionId\":\"a/b/c\"}]}}", .invalidArgument,
            "structuredQuery.from[0].collectionId: a collection id must not contain a slash"
        ),
        (
            ":runQuery", "{\"structuredQuery\":{\"from\":[{\"collectionId\":\"u\"}],\"limit\":-1}}", .invalidArgument,
            "structuredQuery.limit: -1 is not 0 … 2147483647"
        ),
        (
            ":runQuery", "{\"structuredQuery\":{\"from\":[]}}", .invalidArgument,
            "structuredQuery: a query needs \"from\" with one collection"
        ),
        (":listen", "{}", .unimplemented, "listen is not available over REST"),
        (":runAggregationQuery", "{}", .invalidArgument, "a request needs its structuredAggregationQuery"),
        (":nonsense", "{}", .notFound, "the method \"nonsense\" doesn't exist on "),
        (
            "/u/a", "{}", .invalidArgument,
            "\"u/a\" names a document; a collection path has an odd number of segments, such as users"
        ),
        ("/u?documentID=a", "{}", .invalidArgument, "unknown query parameter \"documentID\""),
        ("/u?documentId=a%2Fb", "{}", .invalidArgument, "documentId: a document id must not contain a slash"),
        (":rollback", "{\"transaction\":\"AAAA\"}", .invalidArgument, "transaction: \"AAAA\" is not a transaction id"),
    ])
    func invalidRequestsAreRefusedBeforeTheyReachTheStore(
        path: String, body: String, code: StatusCode, message: String
    ) async throws {
        let service = ScriptedDocuments()
        #expect(try await exchange(.post, Self.root + path, body, of: service) == .error(code, message))
        #expect(service.isDone)
    }

    @Test func deepBodiesAndLargeBodiesAreRefused() async throws {
        let deep = "{\"writes\":" + String(repeating: "[", count: 1000)
        let first = try await exchange(.post, Self.root + ":commit", deep, of: ScriptedDocuments())
        #expect(first.status == 400 && first.body.contains("nested more than 512 deep"))
        let large = String(repeating: " ", count: 5000)
        #expect(
            try await exchange(.post, Self.root + ":commit", large, of: ScriptedDocuments())
                == .error(.invalidArgument, "the request body is larger than the limit of 4096 bytes"))
    }

    @Test func otherDatabasesAreNotServed() async throws {
        let answer = try await exchange(
            .get, "/v1/projects/other/databases/(default)/documents/u/a", of: ScriptedDocuments())
        #expect(
            answer
                == .error(
                    .notFound,
                    "The database (default) does not exist for project other: "
                        + "this host serves projects/demo-shop/databases/(default)"))
    }

    @Test(arguments: [
        ("Bearer garbage", StatusCode.unauthenticated, "the token is not valid"),
        ("Basic b3duZXI=", .unauthenticated, "the token is not valid"),
        ("Bearer owner", .unauthenticated, "the token is not valid"),
        ("Bearer ya29.c.opaque", .unauthenticated, "the token is not valid"),
        ("Bearer down", .unavailable, "no keys"),
    ])
    func productionAcceptsOnlyVerifiedTokens(authorization: String, code: StatusCode, message: String) async throws {
        let answer = try await exchange(
            .get, Self.root + "/u/a", headers: [.authorization: authorization], isDevelopment: false,
            of: ScriptedDocuments())
        #expect(answer == .error(code, message))
    }

    @Test func documentsCanBeClearedInDevelopmentOnly() async throws {
        let service = ScriptedDocuments()
        let path = "/emulator" + Self.root
        #expect(try await exchange(.delete, path, headers: [:], of: service) == RESTAnswer(status: 200, body: "{}"))
        #expect(try await exchange(.delete, path, headers: [:], isDevelopment: false, of: service).status == 404)
        #expect(service.clearCount == 1)
    }

    @Test func browsersOnAnyOriginAreAllowed() async throws {
        let requested = try #require(HTTPField.Name("Access-Control-Request-Headers"))
        let preflight = try await exchange(
            .options, Self.root + ":commit", headers: [.origin: "http://a.example", requested: "authorization,x-goog"],
            of: ScriptedDocuments()
        ) { response in
            #expect(response.headers[.accessControlAllowOrigin] == "http://a.example")
            #expect(response.headers[.accessControlAllowHeaders] == "authorization,x-goog")
            #expect(response.headers[.vary] == "Origin")
        }
        #expect(preflight.status == 200)
        _ = try await exchange(
            .get, Self.root + "/u", headers: [.origin: "http://a.example", .authorization: "Bearer garbage"],
            of: ScriptedDocuments()
        ) { response in
            #expect(response.headers[.accessControlAllowOrigin] == "http://a.example")
        }
    }

    @Test func aMaskHasABound() throws {
        func mask(_ paths: Int) throws -> JSONNode {
            let texts = Array(repeating: "\"a\"", count: paths).joined(separator: ",")
            return try JSONNode(parsing: Array("{\"fieldPaths\":[\(texts)]}".utf8))
        }
        #expect(try mask(50_000).fieldPaths().count == 50_000)
        #expect(try mask(50_000).fieldMask().applied(to: ["a": .null, "b": .null]) == ["a": .null])
        let tooMany = try mask(50_001)
        for read in [{ _ = try tooMany.fieldPaths() }, { _ = try tooMany.fieldMask() }] {
            let problem = #expect(throws: JSONProblem.self) { try read() }
            #expect(problem?.message == "a mask has at most 50000 paths, not 50001")
        }
    }
}
