import NIOHTTP1
import RealtimeModel
import StrictJSON
import TextFormats

/// What a REST request asks for, from its head.
struct RESTRequest: Sendable {
    enum Verb: Equatable, Sendable {
        case get, put, patch, post, delete
        /// A browser's question.
        case preflight
    }

    enum Place: Equatable, Sendable {
        case data(RealtimeTarget)
        case setting(String)
        case databases
    }

    enum Printing: Equatable, Sendable {
        case compact, pretty, silent
    }

    var verb: Verb
    var database: String
    var place: Place
    var query: RealtimeQuery?
    var isShallow: Bool
    var form: RealtimeForm
    var printing: Printing
    var isStream: Bool
    /// The file's name that a browser saves the answer as.
    var download: String?
    /// The function that a page's script calls with the answer.
    var callback: String?
    var timeoutMilliseconds: Int64?
    var options: RealtimeWriteOptions
    var isDryRun: Bool
    var isStrict: Bool
    var credential: Credential
    var override: RealtimeCredentials.Override?
    var appToken: String?
    var wantsETag: Bool
    var ifMatch: String?
    var ifNoneMatch: String?

    enum Credential: Equatable, Sendable {
        case none
        /// - Parameter isHeader: whether the token isn't in the URL.
        case token(String, isHeader: Bool)
    }
}

/// Why a request is refused before anything is done for it.
struct RESTRefusal: Error, Equatable {
    var status: Int
    var message: String
    /// Whether the answer is plain text.
    var isPlain = false

    init(_ status: Int, _ message: String, isPlain: Bool = false) {
        self.status = status
        self.message = message
        self.isPlain = isPlain
    }

    init(_ error: RealtimeServiceError) { self.init(error.httpStatus, error.message) }
}

extension RESTRequest {
    init(_ head: HTTPRequestHead, for names: DatabaseNames) throws(RESTRefusal) {
        verb = try Self.verb(head)
        let mark = head.uri.utf8.firstIndex(of: UInt8(ascii: "?")) ?? head.uri.endIndex
        guard let parameters = URLParameters(head.uri[mark...].dropFirst()) else {
            throw RESTRefusal(400, "The URL's parameters are not validly encoded.")
        }
        let host = head.headers.first(name: "Host")
        database = try names.name(parameters["ns"], host: host)
        place = try Self.place(head.uri[..<mark])
        isShallow = parameters["shallow"] == "true"
        do throws(RealtimeQueryError) {
            let query = try RealtimeQuery(parameters: parameters.all, isShallow: isShallow)
            // Rules see an order, too.
            self.query = query.isDefault && parameters["orderBy"] == nil ? nil : query
        } catch {
            throw RESTRefusal(.query(error))
        }
        form = parameters["format"] == "export" ? .export : .plain
        switch parameters["print"] {
        case "pretty": printing = .pretty
        case "silent": printing = .silent
        default: printing = .compact
        }
        isStream =
            verb == .get && head.method != .HEAD && head.headers["Accept"].contains { $0.contains("text/event-stream") }
        download = parameters["download"]
        callback = try Self.callback(parameters["callback"])
        timeoutMilliseconds = try Self.timeout(parameters["timeout"])
        options = RealtimeWriteOptions()
        options.sizeLimit = try Self.sizeLimit(parameters["writeSizeLimit"])
        options.disablesTriggers = parameters["disableTriggers"] == "true"
        isDryRun = parameters["dryRun"] == "true"
        isStrict = parameters["format"] == "strict"
        credential = Self.credential(head.headers, parameters)
        override = try Self.override(parameters["auth_variable_override"])
        appToken = parameters.appToken(head.headers)
        wantsETag = head.headers.first(name: "X-Firebase-ETag")?.lowercased() == "true"
        ifMatch = Self.etag(head.headers.first(name: "if-match"))
        ifNoneMatch = Self.etag(head.headers.first(name: "if-none-match"))
        // Without its condition, the write might replace what the client has never seen.
        if ifMatch != nil, verb == .patch || verb == .post {
            throw RESTRefusal(400, "The If-Match header is only supported with PUT and DELETE.")
        }
    }

    private static func verb(_ head: HTTPRequestHead) throws(RESTRefusal) -> Verb {
        var method = head.method.rawValue
        if head.method == .POST, let other = head.headers.first(name: "X-HTTP-Method-Override") {
            method = other.uppercased()
        }
        switch method {
        case "GET", "HEAD": return .get
        case "PUT": return .put
        case "PATCH": return .patch
        case "POST": return .post
        case "DELETE": return .delete
        case "OPTIONS": return .preflight
        default: throw RESTRefusal(405, "The method \(method.excerpt) is not supported.")
        }
    }

    private static func place(_ path: Substring) throws(RESTRefusal) -> Place {
        guard path.hasSuffix(".json") else {
            throw RESTRefusal(404, "append .json to your request URI to use the REST API.", isPlain: true)
        }
        let path = path.dropLast(5)
        let segments = path.split(separator: "/")
        if segments.first == ".settings", segments.count == 2 { return .setting(String(segments[1])) }
        if segments == [".inspect", "databases"] { return .databases }
        do throws(RealtimeError) {
            return .data(try RealtimeTarget(percentEncoded: path))
        } catch {
            throw RESTRefusal(400, error.restMessage(body: []))
        }
    }

    private static func callback(_ name: String?) throws(RESTRefusal) -> String? {
        guard let name else { return nil }
        let isName = name.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122, UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "."): true
            default: false
            }
        }
        guard isName, (1...100).contains(name.utf8.count) else {
            throw RESTRefusal(400, "callback must be the name of a function")
        }
        return name
    }

    /// `3ms`, `3s` or `3min`, up to 15 minutes.
    private static func timeout(_ text: String?) throws(RESTRefusal) -> Int64? {
        guard let text else { return nil }
        let digits = text.prefix { $0.isNumber }
        let unit: Int64? =
            switch text.dropFirst(digits.count) {
            case "ms": 1
            case "s", "": 1_000
            case "min": 60_000
            default: nil
            }
        guard let unit, let count = Int64(digits), count > 0, count <= 900_000, count * unit <= 900_000 else {
            throw RESTRefusal(400, "timeout must be a number of ms, s or min, up to 15min")
        }
        return count * unit
    }

    private static func sizeLimit(_ name: String?) throws(RESTRefusal) -> WriteSizeLimit? {
        guard let name else { return nil }
        guard let limit = WriteSizeLimit(rawValue: name) else {
            throw RESTRefusal(400, "writeSizeLimit must be \(WriteSizeLimit.names)")
        }
        return limit
    }

    private static func credential(_ headers: HTTPHeaders, _ parameters: URLParameters) -> Credential {
        if let token = parameters["auth"] ?? parameters["access_token"] { return .token(token, isHeader: false) }
        guard let header = headers.first(name: "Authorization") else { return .none }
        return .token(BearerToken.of(header).map { String($0) } ?? "", isHeader: true)
    }

    private static func override(_ text: String?) throws(RESTRefusal) -> RealtimeCredentials.Override? {
        guard let text else { return nil }
        switch try? JSONValue(parsing: Array(text.utf8)) {
        case .null?: return .unauthenticated
        case .object(let object)?: return .variable(.object(object))
        default: throw RESTRefusal(400, "auth_variable_override must be a JSON object or null")
        }
    }

    /// ETags may be sent in quotes.
    private static func etag(_ text: String?) -> String? {
        guard let text, text.count >= 2, text.first == "\"", text.last == "\"" else { return text }
        return String(text.dropFirst().dropLast())
    }
}
