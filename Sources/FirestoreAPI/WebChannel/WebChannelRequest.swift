import HTTPTypes
import Hummingbird
import NIOCore
import TextFormats

/// A request of WebChannel, as its URL describes it.
struct WebChannelRequest {
    enum Method: String {
        case listen = "Listen"
        case write = "Write"
    }

    enum Kind {
        /// Opens a session.
        case open(hasKeepAlive: Bool)
        /// - Parameter received: the number of the last array that the client has received.
        case forward(session: String, received: Int)
        /// - Parameter timeout: after how many milliseconds a buffered answer is to end; nil for the usual time.
        case back(session: String, acknowledged: Int, isBuffered: Bool, timeout: Int?)
        case terminate(session: String)
    }

    static let prefix = "/google.firestore.v1.Firestore/"

    let method: Method
    let kind: Kind

    enum Problem: Error {
        case unknownMethod, invalid
    }

    init(_ request: Request) throws(Problem) {
        let parts = request.uri.path.dropFirst(Self.prefix.count).split(
            separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1] == "channel", let method = Method(rawValue: String(parts[0])) else {
            throw .unknownMethod
        }
        self.method = method
        guard let query = WebChannelFields((request.uri.query ?? "").utf8) else { throw .invalid }
        let session = query["SID"] ?? ""
        switch (request.method, query["TYPE"]) {
        case (_, "terminate"?) where !session.isEmpty: kind = .terminate(session: session)
        case (.get, _) where query["RID"] == "rpc" && !session.isEmpty:
            guard let acknowledged = Int(query["AID"] ?? "0"), acknowledged >= 0 else { throw .invalid }
            let timeout = query["TO"].flatMap { Int($0) }
            kind = .back(
                session: session, acknowledged: acknowledged, isBuffered: query["CI"] == "1", timeout: timeout)
        case (.post, _) where session.isEmpty: kind = .open(hasKeepAlive: query["CVER"] != nil)
        case (.post, _): kind = .forward(session: session, received: query["AID"].flatMap { Int($0) } ?? .max)
        default: throw .invalid
        }
    }
}

/// Names and values of a WebChannel's form or query. What isn't validly encoded is repaired.
struct WebChannelFields {
    /// The SDK sends at most 1,000 maps at once, each of which is a field.
    static let maxCount = 1100

    private(set) var fields: [(name: String, value: Substring.UTF8View)] = []

    /// - Returns: nil if there are too many, or if a name takes too long to compare.
    init?(_ text: some Collection<UInt8>) {
        let text = Substring(decoding: text, as: UTF8.self)
        let pairs = text.utf8.split(separator: UInt8(ascii: "&"), maxSplits: Self.maxCount)
        guard pairs.count <= Self.maxCount else { return nil }
        for pair in pairs {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let name = PercentEncoding.repaired(pair[..<end])
            // They are compared with what is looked for.
            guard CombiningMarks.areFew(in: name) else { return nil }
            let value = end == pair.endIndex ? pair[end...] : pair[pair.index(after: end)...]
            fields.append((name, Substring(value).utf8))
        }
    }

    subscript(_ name: String) -> String? {
        let value = fields.last { $0.name == name }.map { PercentEncoding.repaired($0.value) }
        return value.flatMap { CombiningMarks.areFew(in: $0) ? $0 : nil }
    }
}

extension ByteBuffer {
    /// The fields of a form that are whole, if only its beginning was received.
    var wholeFields: ByteBuffer {
        let end = readableBytesView.lastIndex(of: UInt8(ascii: "&")) ?? readerIndex
        return getSlice(at: readerIndex, length: end - readerIndex) ?? ByteBuffer()
    }
}

/// The body of a forward channel: `headers=…&count=N&ofs=M&req0___data__=…`.
struct WebChannelForm {
    /// The number of the first map.
    let offset: Int
    let maps: [(number: Int, text: [UInt8])]
    /// The value of the header `Authorization`, which browsers can't send with a request that needs no preflight.
    let authorization: String?
    /// The value of the header `X-Firebase-AppCheck`, which comes in the same way.
    let appCheck: String?

    /// - Returns: nil if the numbers aren't numbers or are too large, or there are too many fields.
    init?(_ body: some Collection<UInt8>) {
        guard let form = WebChannelFields(body) else { return nil }
        // A number behind the last map must exist, too.
        let offsets = 0...Int.max - WebChannelFields.maxCount
        guard let offset = Int(form["ofs"] ?? "0"), offsets.contains(offset) else { return nil }
        var maps: [(number: Int, text: [UInt8])] = []
        for field in form.fields where field.name.hasPrefix("req") && field.name.hasSuffix("___data__") {
            let (number, isTooLarge) = (Int(field.name.dropFirst(3).dropLast(9)) ?? -1)
                .addingReportingOverflow(offset)
            guard !isTooLarge, number >= offset else { return nil }
            maps.append((number, Array(PercentEncoding.repaired(field.value).utf8)))
        }
        self.offset = offset
        self.maps = maps
        var (authorization, appCheck) = (String?.none, String?.none)
        for line in (form["headers"] ?? "").split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = String(line[line.index(after: colon)...].drop { $0 == " " })
            switch line[..<colon].lowercased() {
            case "authorization": authorization = value
            case PrincipalReader.appCheckHeader: appCheck = value
            default: break
            }
        }
        self.authorization = authorization
        self.appCheck = appCheck
    }
}
