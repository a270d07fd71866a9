package import DocumentModel
import RealtimeModel
import StrictJSON
import TextFormats

/// The format of `data` commands on the control socket: the request is a path with a query, the response is lines of
/// JSON. An export's lines are sent unchanged. Pieces of a database's export follow lines that announce their lengths.
package enum DataWire {
    // MARK: Requests

    static func path(_ request: DataRequest) -> String {
        let (verb, parameters): (String, [(String, String)]) =
            switch request {
            case .backUp(let file, let replacing): ("backup", [("file", file), ("replace", "\(replacing)")])
            case .export(.everything): ("export", [])
            case .export(.collections(let collections)): ("export", collections.map { ("collection", $0.string) })
            case .export(.users): ("export", [("only", "users")])
            case .importDocuments(let clearing): ("import", [("clear", "\(clearing)")])
            case .check(let repairing): ("check", [("repair", "\(repairing)")])
            case .compact(let whole): ("compact", [("whole", "\(whole)")])
            case .clear: ("clear", [])
            case .exportDatabase(let place): ("export-database", parameters(place))
            case .importDatabase(let place, let options):
                (
                    "import-database",
                    parameters(place) + [("steps", "\(options.inSteps)"), ("triggers", "\(options.firesEvents)")]
                )
            }
        let query = parameters.map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
        return "data/\(verb)" + (query.isEmpty ? "" : "?\(query)")
    }

    // Verbs of their own: a host that doesn't know them mustn't take them for those of documents.
    private static func parameters(_ place: DatabasePlace) -> [(String, String)] {
        [("database", place.database), ("path", place.path.string), ("format", place.format.rawValue)]
    }

    private static func place(_ parameters: ControlParameters) throws(DocumentError) -> DatabasePlace {
        let name = try parameters.required("format")
        guard let format = DatabasePlace.Format(rawValue: name) else {
            throw .invalidArgument("this host doesn't know the format \(name)")
        }
        return try DatabasePlace(
            try parameters.required("database"), path: parameters["path"] ?? "", format: format)
    }

    /// - Throws: `invalidArgument` if this host doesn't know the request.
    package static func request(_ verb: String, query: String?) throws(DocumentError) -> DataRequest {
        let parameters = try ControlParameters(query: query)
        switch verb {
        case "backup":
            guard let file = parameters["file"], file.hasPrefix("/") else {
                throw .invalidArgument("a backup needs the absolute path of its file")
            }
            return .backUp(file: file, replacing: parameters.has("replace"))
        case "export":
            if let part = parameters["only"] {
                guard part == "users" else { throw .invalidArgument("this host doesn't export \(part) alone") }
                return .export(.users)
            }
            var collections: [CollectionPath] = []
            for path in parameters.all("collection") { collections.append(try CollectionPath(path)) }
            return .export(collections.isEmpty ? .everything : .collections(collections))
        case "import": return .importDocuments(clearing: parameters.has("clear"))
        case "check": return .check(repairing: parameters.has("repair"))
        case "compact": return .compact(whole: parameters.has("whole"))
        case "clear": return .clear
        case "export-database": return .exportDatabase(try place(parameters))
        case "import-database":
            let options = DatabaseImportOptions(
                inSteps: parameters.has("steps"), firesEvents: parameters.has("triggers"))
            return .importDatabase(try place(parameters), options)
        default: throw .invalidArgument("this host doesn't know \"data \(verb)\"")
        }
    }

    // MARK: Responses

    /// The content of a line.
    enum Line: Equatable {
        case event(DataEvent)
        case outcome(DataOutcome)
        case error(DocumentError)
    }

    package static func line(_ event: DataEvent) -> [UInt8] {
        var text = JSONWriter()
        switch event {
        case .lines(let lines): return lines
        case .bytes(let bytes):
            text.raw("{\"bytes\":")
            text.integer(bytes.count)
            text.raw("}\n")
            return text.bytes + bytes
        case .problem(let problem):
            text.raw("{\"problem\":")
            text.string(problem)
            text.raw("}\n")
        case .progress(let done, let total):
            text.raw("{\"done\":")
            text.integer(done)
            if let total {
                text.raw(",\"total\":")
                text.integer(total)
            }
            text.raw("}\n")
        }
        return text.bytes
    }

    package static func line(_ outcome: DataOutcome) -> [UInt8] {
        var text = JSONWriter()
        text.raw("{\"outcome\":")
        text.outcome(outcome)
        text.raw("}\n")
        return text.bytes
    }

    package static func line(_ error: DocumentError) -> [UInt8] {
        var text = JSONWriter()
        text.raw("{\"error\":{\"status\":")
        text.string(error.code.wireName)
        text.raw(",\"message\":")
        text.string(error.message)
        text.raw("}}\n")
        return text.bytes
    }

    /// The length of the piece that follows a line; nil if none follows.
    static func pieceLength(_ line: [UInt8]) -> Int? {
        let beginning = Array("{\"bytes\":".utf8)
        guard line.starts(with: beginning), line.last == UInt8(ascii: "}") else { return nil }
        return Int(String(decoding: line[beginning.count..<(line.count - 1)], as: UTF8.self))
    }

    /// - Parameter isExport: whether each line that is neither an error nor a problem belongs to an export.
    /// - Throws: `internal` if no host of this version writes such a line.
    static func read(_ line: [UInt8], isExport: Bool) throws(DocumentError) -> Line {
        if let error = try error(line) { return .error(error) }
        if isExport, !line.starts(with: "{\"problem\":".utf8) {
            return .event(.lines(line + [UInt8(ascii: "\n")]))
        }
        do throws(JSONProblem) {
            let root = try JSONNode(parsing: line)
            if let outcome = root["outcome"] {
                var numbers: [String: Int] = [:]
                for member in try outcome.members() { numbers[member.key] = Int(try member.value.integer()) }
                return .outcome(DataOutcome(numbers))
            }
            if let problem = root["problem"] { return .event(.problem(try problem.string())) }
            if let done = root["done"] {
                return .event(.progress(done: Int(try done.integer()), total: try root["total"].map(Self.integer)))
            }
            throw root.problem("an unknown line")
        } catch {
            throw DocumentError(.internal, "the host's response can't be decoded: \(error.message)")
        }
    }

    /// The error in a line; nil if the line contains something else.
    static func error(_ line: [UInt8]) throws(DocumentError) -> DocumentError? {
        guard line.starts(with: "{\"error\":".utf8) else { return nil }
        do throws(JSONProblem) {
            let error = try JSONNode(parsing: line)["error"]
            let status = try error?["status"]?.string() ?? ""
            let known = (0...UInt8.max).lazy.compactMap(StatusCode.init(rawValue:)).first { $0.wireName == status }
            return DocumentError(known ?? .unknown, try error?["message"]?.string() ?? "")
        } catch {
            throw DocumentError(.internal, "the host's response can't be decoded: \(error.message)")
        }
    }

    private static func integer(_ node: JSONNode) throws(JSONProblem) -> Int { Int(try node.integer()) }
}

extension JSONWriter {
    /// An object of numbers, in the order of their names.
    mutating func outcome(_ outcome: DataOutcome) {
        raw("{")
        list(outcome.numbers.sorted { $0.key < $1.key }) { text, number in
            text.key(number.key)
            text.integer(number.value)
        }
        raw("}")
    }
}
