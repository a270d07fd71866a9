import NIOHTTP1
@testable import RealtimeAPI
import RealtimeModel
import StrictJSON
import Testing

/// What a request's head asks for.
@Suite struct RESTRequestTests {
    private let names = DatabaseNames(fallback: "default", known: ["shop-staff"])

    private func read(_ method: HTTPMethod, _ uri: String, _ headers: HTTPHeaders = [:]) throws(RESTRefusal)
        -> RESTRequest
    {
        try RESTRequest(
            HTTPRequestHead(version: .http1_1, method: method, uri: uri, headers: headers), for: names)
    }

    @Test(
        arguments: [
            ("/a/b.json", ""), ("/a/b.json?ns=x", "x"), ("//a//b.json?ns=", ""), ("/a/b/.json", ""),
            ("/a%2fb.json", nil),
        ] as [(String, String?)])
    func paths(uri: String, database: String?) throws {
        guard let database else {
            #expect(throws: RESTRefusal(400, "Invalid path: Invalid token in path")) { try read(.GET, uri) }
            return
        }
        let request = try read(.GET, uri)
        #expect(request.place == .data(try RealtimeTarget("a/b")))
        #expect(request.database == (database.isEmpty ? "default" : database))
    }

    @Test(
        arguments: [
            ("demo.firebaseio.com", "demo"), ("Demo.europe-west1.firebasedatabase.app:443", "demo"),
            // firebase-tools leaves out ns where the host has the name.
            ("demo.localhost:9000", "demo"), ("shop-staff.db.example.com", "shop-staff"),
            // Any other name may be that of the machine.
            ("demo.db.example.com", "default"), ("localhost:9000", "default"), ("127.0.0.1:9000", "default"),
            ("shop-staff", "default"), (".localhost", "default"), ("a b.localhost", "default"),
        ])
    func aHostNamesADatabase(host: String, database: String) throws {
        #expect(try read(.GET, "/a.json", ["Host": host]).database == database)
        #expect(try read(.GET, "/a.json?ns=other", ["Host": host]).database == "other")
    }

    @Test func theAppsTokenIsAParameterOrAHeader() throws {
        #expect(try read(.GET, "/a.json?ns=x&format=export&ac=P").appToken == "P")
        #expect(try read(.GET, "/a.json", ["X-Firebase-AppCheck": "H"]).appToken == "H")
        #expect(try read(.GET, "/a.json?ac=P", ["X-Firebase-AppCheck": "H"]).appToken == "P")
        #expect(try read(.GET, "/a.json?ac=", ["X-Firebase-AppCheck": "H"]).appToken == "H")
        #expect(try read(.GET, "/a.json").appToken == nil)
    }

    @Test(arguments: [
        ("/.json", RESTRequest.Place.data(RealtimeTarget(.root))), ("/.settings/rules.json", .setting("rules")),
        ("/.inspect/databases.json", .databases), ("/.priority.json", .data(RealtimeTarget(.root, isPriority: true))),
    ])
    func places(uri: String, place: RESTRequest.Place) throws { #expect(try read(.PUT, uri).place == place) }

    @Test(arguments: [
        ("/a", 404, "append .json to your request URI to use the REST API."),
        ("/a.b.json", 400, "Invalid path: Invalid token in path"),
        ("/a%ff.json", 400, "Invalid path: Invalid token in path"),
        ("/a.json?ns=x%2fy", 400, "ns is not the name of a database."),
        ("/a.json?x=%zz", 400, "The URL's parameters are not validly encoded."),
        ("/a.json?limitToFirst=1", 400, "orderBy must be defined when other query parameters are defined"),
        ("/a.json?orderBy=x", 400, "orderBy must be a valid JSON encoded path"),
        ("/a.json?orderBy=%22x%22&equalTo={}", 400, "Constraint index field must be a JSON primitive"),
        ("/a.json?timeout=16min", 400, "timeout must be a number of ms, s or min, up to 15min"),
        ("/a.json?timeout=99999999999999999s", 400, "timeout must be a number of ms, s or min, up to 15min"),
        ("/a.json?writeSizeLimit=huge", 400, "writeSizeLimit must be tiny, small, medium, large or unlimited"),
        ("/a.json?callback=a(b", 400, "callback must be the name of a function"),
        ("/a.json?auth_variable_override=7", 400, "auth_variable_override must be a JSON object or null"),
    ])
    func refusals(uri: String, status: Int, message: String) {
        let refusal = #expect(throws: RESTRefusal.self) { try read(.GET, uri) }
        #expect(refusal?.status == status)
        #expect(refusal?.message == message)
    }

    @Test func verbs() throws {
        #expect(try read(.POST, "/a.json").verb == .post)
        #expect(try read(.POST, "/a.json", ["X-HTTP-Method-Override": "patch"]).verb == .patch)
        // Only a POST is one of another kind.
        #expect(try read(.GET, "/a.json", ["X-HTTP-Method-Override": "DELETE"]).verb == .get)
        #expect(throws: RESTRefusal(405, "The method TRACE is not supported.")) { try read(.TRACE, "/a.json") }
    }

    @Test(arguments: [
        ("", "", RESTRequest.Credential.none), ("Bearer T", "", .token("T", isHeader: true)),
        ("bearer T", "", .token("T", isHeader: true)),
        // Another scheme isn't a valid credential.
        ("Basic T", "", .token("", isHeader: true)), ("", "auth=T", .token("T", isHeader: false)),
        ("", "access_token=T", .token("T", isHeader: false)),
    ])
    func credentials(header: String, query: String, expected: RESTRequest.Credential) throws {
        let headers: HTTPHeaders = header.isEmpty ? [:] : ["Authorization": header]
        #expect(try read(.GET, "/a.json?\(query)", headers).credential == expected)
    }

    @Test func parameters() throws {
        let request = try read(
            .PUT,
            "/a.json?print=pretty&shallow=true&format=export&download=f&callback=cb&timeout=3s&writeSizeLimit=tiny"
                + "&disableTriggers=true&auth_variable_override=%7B%22uid%22:%22u%22%7D",
            ["X-Firebase-ETag": "true", "if-match": "\"E\"", "if-none-match": "F", "Accept": "text/event-stream"])
        #expect(request.printing == .pretty)
        #expect(request.isShallow)
        #expect(request.form == .export)
        #expect(request.download == "f")
        #expect(request.callback == "cb")
        #expect(request.timeoutMilliseconds == 3_000)
        #expect(request.options.sizeLimit == .tiny)
        #expect(request.options.disablesTriggers)
        #expect(request.override == .variable(["uid": "u"]))
        #expect(request.wantsETag)
        #expect(request.ifMatch == "E")
        #expect(request.ifNoneMatch == "F")
        #expect(!request.isStream)
        #expect(try read(.GET, "/a.json", ["Accept": "text/event-stream"]).isStream)
        #expect(try read(.GET, "/a.json?auth_variable_override=null").override == .unauthenticated)
    }

    /// Nothing is written without the condition that a client has set.
    @Test func aConditionIsForPutAndDeleteOnly() throws {
        let refusal = RESTRefusal(400, "The If-Match header is only supported with PUT and DELETE.")
        #expect(throws: refusal) { try read(.PATCH, "/a.json", ["If-Match": "E"]) }
        #expect(throws: refusal) { try read(.POST, "/a.json", ["If-Match": "E"]) }
        #expect(throws: refusal) { try read(.POST, "/a.json", ["X-HTTP-Method-Override": "PATCH", "If-Match": "E"]) }
        #expect(try read(.DELETE, "/a.json", ["If-Match": "E"]).ifMatch == "E")
        #expect(try read(.POST, "/a.json", ["X-HTTP-Method-Override": "PUT", "If-Match": "E"]).ifMatch == "E")
    }

    @Test(arguments: [
        ("demo.firebaseio.com", "demo"), ("demo.europe-west1.firebasedatabase.app:443", "demo"),
        ("localhost:9000", "default"),
        ("firebaseio.com", "default"),
    ])
    func theHostMayNameTheDatabase(host: String, database: String) throws {
        #expect(try read(.GET, "/a.json", ["Host": host]).database == database)
    }

    @Test(arguments: [
        (["null"], "null"), (["{}"], "{}"), (["[]"], "[]"),
        ([#"{"a":1,"b":[1,"x,{"]}"#], "{\n  \"a\" : 1,\n  \"b\" : [\n    1,\n    \"x,{\"\n  ]\n}"),
        ([#"{"a\"#, #""":{"b":t"#, "rue}}"], "{\n  \"a\\\"\" : {\n    \"b\" : true\n  }\n}"),
    ])
    func printingIsIndented(parts: [String], expected: String) {
        var indenter = JSONIndenter()
        var text: [UInt8] = []
        for part in parts { indenter.append(Array(part.utf8), to: &text) }
        #expect(String(decoding: text, as: UTF8.self) == expected)
    }
}
