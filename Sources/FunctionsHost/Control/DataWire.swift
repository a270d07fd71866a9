import DocumentModel

/// How the `data` commands are spoken over the control socket: the request as a path with its query, the answer as
/// lines of JSON. What an export is made of goes as it is.
enum DataWire {
    // MARK: Requests

    static func path(_ request: DataRequest) -> String {
        let (verb, parameters): (String, [(String, String)]) =
            switch request {
            case .backUp(let file, let replacing): ("backup", [("file", file), ("replace", "\(replacing)")])
            case .export(let collections): ("export", collections.map { ("collection", $0.string) })
            case .importDocuments(let clearing): ("import", [("clear", "\(clearing)")])
            case .check(let repairing): ("check", [("repair", "\(repairing)")])
            case .compact(let whole): ("compact", [("whole", "\(whole)")])
            case .clear: ("clear", [])
            }
        let query = parameters.map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
        return "data/\(verb)" + (query.isEmpty ? "" : "?\(query)")
    }

    /// - Throws: `invalidArgument` for what this host doesn't know.
    static func request(_ verb: String, query: String?) throws(DocumentError) -> DataRequest {
        var parameters: [(name: String, value: String)] = []
        for pair in (query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard let name = parts.first, let value = PercentEncoding.decoded(parts.count == 2 ? parts[1] : "") else {
                throw .invalidArgument("the query \(pair) can't be read")
            }
            parameters.append((String(name), value))
        }
        func value(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
        switch verb {
        case "backup":
            guard let file = value("file"), file.hasPrefix("/") else {
                throw .invalidArgument("a backup needs the absolute path of its file")
            }
            return .backUp(file: file, replacing: value("replace") == "true")
        case "export":
            var collections: [CollectionPath] = []
            for parameter in parameters where parameter.name == "collection" {
                collections.append(try CollectionPath(parameter.value))
            }
            return .export(collections)
        case "import": return .importDocuments(clearing: value("clear") == "true")
        case "check": return .check(repairing: value("repair") == "true")
        case "compact": return .compact(whole: value("whole") == "true")
        case "clear": return .clear
        default: throw .invalidArgument("this host doesn't know \"data \(verb)\"")
        }
    }

    // MARK: Answers

    /// What a line says.
    enum Line: Equatable {
        case event(DataEvent)
        case outcome(DataOutcome)
        case error(DocumentError)
    }

    static func line(_ event: DataEvent) -> [UInt8] {
        var text = JSONText()
        switch event {
        case .lines(let lines): return lines
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

    static func line(_ outcome: DataOutcome) -> [UInt8] {
        var text = JSONText()
        text.raw("{\"outcome\":")
        text.outcome(outcome)
        text.raw("}\n")
        return text.bytes
    }

    static func line(_ error: DocumentError) -> [UInt8] {
        var text = JSONText()
        text.raw("{\"error\":{\"status\":")
        text.string(error.code.wireName)
        text.raw(",\"message\":")
        text.string(error.message)
        text.raw("}}\n")
        return text.bytes
    }

    /// - Parameter isExport: then a line that isn't an error is the export's.
    /// - Throws: `internal` for a line that no host of this version writes.
    static func read(_ line: [UInt8], isExport: Bool) throws(DocumentError) -> Line {
        if isExport, !line.starts(with: "{\"error\":".utf8) { return .event(.lines(line + [UInt8(ascii: "\n")])) }
        do throws(JSONProblem) {
            let root = try JSONParser.parse(line)
            if let error = root["error"] {
                let status = try error["status"]?.string() ?? ""
                let known = (0...UInt8.max).lazy.compactMap(StatusCode.init(rawValue:)).first { $0.wireName == status }
                return .error(DocumentError(known ?? .unknown, try error["message"]?.string() ?? ""))
            }
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
            throw DocumentError(.internal, "the host's answer can't be read: \(error.message)")
        }
    }

    private static func integer(_ node: JSONNode) throws(JSONProblem) -> Int { Int(try node.integer()) }
}

extension JSONText {
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
