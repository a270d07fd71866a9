import DocumentModel
import RealtimeModel
import Testing

@testable import ControlProtocol

/// The encoding and decoding of commands' requests.
@Suite struct ControlRequestTests {
    @Test func parametersRoundTrip() throws {
        var request = ControlRequest("deliveries", "list")
        request.add("function", "a&b=c d%é")
        request.add("state", "dead")
        request.add("state", "pending")
        request.add("after", nil)
        let parts = request.path.split(separator: "?", maxSplits: 1)
        #expect(parts[0] == "deliveries/list")
        let parameters = try ControlParameters(query: String(parts[1]))
        #expect(parameters["function"] == "a&b=c d%é")
        #expect(parameters.all("state") == ["dead", "pending"])
        #expect(parameters["after"] == nil)
        #expect(try ControlParameters(body: request.body)["function"] == "a&b=c d%é")
        #expect(ControlRequest("pauses", "list").path == "pauses/list")
    }

    /// Neither answers commands, and another one couldn't be started beside it.
    @Test func aHostThatDoesNotAnswerMayBeStartingOrStopping() {
        #expect(
            NoRunningHost("/data").description
                == "no host runs on the data directory /data, or it is starting or stopping; start one with "
                + "\"functions-host serve\", or name another directory with --data or --config")
    }

    @Test func malformedParametersAreRejected() throws {
        #expect(throws: DocumentError.self) { try ControlParameters(query: "a=%zz") }
        let parameters = try ControlParameters(query: "count=7&wait=true")
        #expect(try parameters.integer("count", in: 1...10) == 7)
        #expect(try parameters.integer("limit", in: 1...10) == nil)
        #expect(parameters.has("wait"))
        let error = #expect(throws: DocumentError.self) { try parameters.integer("count", in: 8...10) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message == "count is 7; it must be 8 to 10")
        #expect(throws: DocumentError.self) { try parameters.required("name") }
    }

    @Test func deliveryFiltersRoundTrip() throws {
        let filter = DeliveryFilter(function: "recordSale", states: [.dead, .waiting], olderThan: 60)
        var request = ControlRequest("deliveries", "list")
        filter.add(to: &request)
        let query = request.path.split(separator: "?", maxSplits: 1)[1]
        #expect(try DeliveryFilter(ControlParameters(query: String(query))) == filter)
        #expect(throws: DocumentError.self) { try DeliveryFilter(ControlParameters(query: "state=lost")) }
    }

    @Test(arguments: [
        DataRequest.backUp(file: "/tmp/a b.sqlite", replacing: true), .export(.everything), .export(.users),
        .importDocuments(clearing: true),
        .importDocuments(clearing: false), .check(repairing: true), .compact(whole: false), .clear,
        .exportDatabase(DatabasePlace("demo-default-rtdb")),
        .exportDatabase(
            DatabasePlace("d", path: RealtimePath(unchecked: [RealtimeKey(unchecked: "a&b é")]), format: .jsonl)),
        .importDatabase(DatabasePlace("d"), DatabaseImportOptions()),
        .importDatabase(DatabasePlace("d"), DatabaseImportOptions(inSteps: true, firesEvents: false)),
    ]) func dataRequestsRoundTrip(request: DataRequest) throws {
        let parts = DataWire.path(request).split(separator: "?", maxSplits: 1)
        let verb = String(parts[0].dropFirst("data/".count))
        #expect(try DataWire.request(verb, query: parts.count > 1 ? String(parts[1]) : nil) == request)
    }

    /// A piece is announced by its length, and may contain what looks like lines.
    @Test func piecesAreDividedFromLines() throws {
        let piece = Array("{\"error\":1}\n{\"bytes\":3}\nx".utf8)
        var buffer = LineBuffer()
        buffer.append(DataWire.line(.bytes(piece)).prefix(20))
        let line = try #require(try buffer.next())
        let length = try #require(DataWire.pieceLength(line))
        #expect(length == piece.count)
        var read = Array(buffer.take(atMost: length))
        #expect(read == Array(piece.prefix(read.count)) && read.count < length)
        buffer.append(DataWire.line(.bytes(piece)).dropFirst(20) + DataWire.line(DataOutcome(["bytes": length])))
        read += buffer.take(atMost: length - read.count)
        #expect(read == piece)
        #expect(try buffer.next() == DataWire.line(DataOutcome(["bytes": length])).dropLast())
        #expect(try buffer.next() == nil)
        for other in ["{\"bytes\":}", "{\"bytes\":1,\"a\":2}", "{\"outcome\":{}}", ""] {
            #expect(DataWire.pieceLength(Array(other.utf8)) == nil)
        }
    }

    @Test func aBackupNeedsAnAbsolutePath() {
        #expect(throws: DocumentError.self) { try DataWire.request("backup", query: "file=here.sqlite") }
        #expect(throws: DocumentError.self) { try DataWire.request("sell", query: nil) }
        for query in ["format=json", "database=d&format=xml", "database=d&format=json&path=a.b"] {
            #expect(throws: DocumentError.self, "\(query)") { try DataWire.request("export-database", query: query) }
        }
    }
}
