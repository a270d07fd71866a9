import Foundation

/// Documents of all kinds in nested collections, and what two services have of them.
enum CopiedDocuments {
    /// Values of all types, also such that JSON has no numbers for, empty ones, and names that addresses must escape.
    static func fields(_ number: Int, project: String) -> String {
        """
        {"a":{"arrayValue":{"values":[{"nullValue":null},{"booleanValue":true},{"mapValue":{}}]}},\
        "b":{"bytesValue":"AAEC/w=="},"b0":{"bytesValue":""},"e":{"arrayValue":{}},"f":{"mapValue":{}},\
        "g":{"geoPointValue":{"latitude":1.5,"longitude":-2.25}},"i":{"doubleValue":"-Infinity"},\
        "j":{"doubleValue":"Infinity"},"l":{"integerValue":"-9223372036854775808"},\
        "m":{"mapValue":{"fields":{"q.x`":{"stringValue":"é\\"\\n\\u0000😀"},\
        "r":{"referenceValue":"projects/\(project)/databases/(default)/documents/c/d\(number)"}}}},\
        "n":{"doubleValue":"NaN"},"number":{"integerValue":"\(number)"},"p":{"doubleValue":0.1},\
        "s":{"stringValue":""},"t":{"timestampValue":"2026-01-02T03:04:05.678901Z"},\
        "u":{"timestampValue":"0001-01-01T00:00:00Z"},"z":{"doubleValue":5e-324},\
        "v":{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},\
        "value":{"arrayValue":{"values":[{"doubleValue":1.0},{"doubleValue":2.5}]}}}}}}
        """
    }

    /// The paths: deep ones, wide ones, and some whose parents are missing.
    static let paths: [String] =
        (0..<1100).map { "wide/d\($0)" }
        + (0..<200).map { "users/u\($0)" }
        + (0..<200).flatMap { user in (0..<2).map { "users/u\(user)/orders/o\($0)" } }
        + (0..<310).map { "ghosts/g\($0)/left/behind" }
        + ["odd/ü ?#%&", "odd/a:b/per%cent/x", "a/b/c/d/e/f/g/h/i/j", "__x/__y"]

    /// Writes all documents.
    static func write(to client: HTTPClient, project: String) async throws {
        let root = "projects/\(project)/databases/(default)/documents"
        for start in stride(from: 0, to: paths.count, by: 300) {
            let writes = paths[start..<min(start + 300, paths.count)].enumerated().map { offset, path in
                let number = start + offset
                let small = number % 2 == 0 ? "{}" : #"{"number":{"integerValue":"\#(number)"}}"#
                let fields = number % 10 == 0 ? fields(number, project: project) : small
                return #"{"update":{"name":"\#(root)/\#(path)","fields":\#(fields)}}"#
            }
            let answer = try await client.send(
                "POST", "/v1/\(root):commit",
                headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"],
                #"{"writes":[\#(writes.joined(separator: ","))]}"#)
            guard answer.status == 200 else { throw Bound.Exceeded(description: answer.text) }
        }
    }

    /// The documents of an export by path, with the fields as both services' JSON would be if it were written alike.
    static func exported(_ export: String) throws -> [String: JSON] {
        var documents: [String: JSON] = [:]
        for line in export.split(separator: "\n") where line.hasPrefix(#"{"path""#) {
            let json = try JSON(parsing: String(line))
            documents[json["path"]?.text ?? ""] = alike(json["fields"] ?? .null)
        }
        return documents
    }

    /// The documents of an emulator, which has a query over all collections.
    static func queried(_ client: HTTPClient, project: String) async throws -> [String: JSON] {
        let root = "projects/\(project)/databases/(default)/documents"
        let answer = try await client.send(
            "POST", "/v1/\(root):runQuery",
            headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"],
            #"{"structuredQuery":{"from":[{"allDescendants":true}]}}"#)
        var documents: [String: JSON] = [:]
        for element in answer.json.list {
            guard let document = element["document"], let name = document["name"]?.text else { continue }
            documents[String(name.dropFirst(root.count + 1))] = alike(document["fields"] ?? .object([:]))
        }
        return documents
    }

    /// The paths at which two services differ.
    static func differences(_ one: [String: JSON], _ other: [String: JSON]) -> [String] {
        Set(one.keys).union(other.keys).filter { one[$0] != other[$0] }.sorted()
    }

    /// Without the members that are written or left out if they are empty.
    private static func alike(_ json: JSON) -> JSON {
        switch json {
        case .array(let elements): return .array(elements.map(alike))
        case .object(let members):
            return .object(
                members.filter { key, value in
                    !(key == "fields" && value == .object([:]) || key == "values" && value == .array([]))
                }.mapValues(alike))
        default: return json
        }
    }
}
