import CFunctionsSystem
package import DocumentModel
package import StrictJSON
import TextFormats

/// Values in Firestore's JSON format.
extension JSONNode {
    /// Reads a `Value` message: an object with exactly one key, which names the type.
    ///
    /// - Throws: the place and the reason, which becomes INVALID_ARGUMENT.
    package func value() throws(JSONProblem) -> Value {
        functions_step()
        guard case .object(let members) = kind else { throw problem("\(summary) is not a value; write {\"TYPE\": …}") }
        guard let member = members.first else { throw problem("a value needs a type, such as stringValue") }
        guard members.count == 1 else {
            let types = members.map(\.key).joined(separator: ", ")
            throw problem("a value must have one type; this one has \(members.count): \(types)")
        }
        let node = member.value
        switch member.key {
        case "nullValue":
            switch node.kind {
            case .null, .string("NULL_VALUE"): return .null
            default: throw node.problem("\(node.summary) is not null")
            }
        case "booleanValue": return .boolean(try node.boolean())
        case "integerValue": return .integer(try node.integer())
        case "doubleValue": return .double(try node.double())
        case "timestampValue": return .timestamp(try node.timestamp())
        case "stringValue": return .string(try node.string())
        case "bytesValue": return .bytes(try node.bytes())
        case "referenceValue": return .reference(try node.documentName())
        case "geoPointValue": return .geoPoint(try node.geoPoint())
        case "arrayValue": return .array(try node.arrayValue())
        case "mapValue":
            var fields: [String: Value] = [:]
            for member in try node.members() {
                guard member.key == "fields" else { throw member.unknown }
                fields = try member.value.fields()
            }
            return .map(fields)
        default: throw JSONProblem(offset: member.offset, message: "this is not the type of a value")
        }
    }

    /// Reads `{"name": Value, …}`. As in protobuf's JSON, a null isn't an omitted field: the document would lack it.
    package func fields() throws(JSONProblem) -> [String: Value] {
        functions_step()
        guard case .object(let members) = kind else { throw problem("\(summary) is not an object") }
        var fields: [String: Value] = [:]
        fields.reserveCapacity(members.count)
        for member in members { fields[member.key] = try member.value.value() }
        return fields
    }

    /// Reads `{"values": [Value, …]}`.
    func arrayValue() throws(JSONProblem) -> [Value] {
        var values: [Value] = []
        for member in try members() {
            guard member.key == "values" else { throw member.unknown }
            for element in try member.value.elements() { values.append(try element.value()) }
        }
        return values
    }

    package func timestamp() throws(JSONProblem) -> Timestamp {
        guard let timestamp = Timestamp(rfc3339: try string()) else {
            throw problem("\(summary) is not an RFC 3339 timestamp, such as 2026-01-02T03:04:05.678901Z")
        }
        return timestamp
    }

    package func bytes() throws(JSONProblem) -> [UInt8] {
        guard let bytes = Base64.decodeAnyAlphabet(try string()) else { throw problem("not valid base64") }
        return bytes
    }

    /// Reads the name of an enum's value, which may stand there as its number: Google's library for Node sends numbers.
    ///
    /// - Parameter names: the names at their numbers.
    func choice(_ names: [String]) throws(JSONProblem) -> String {
        guard case .integer(let number) = kind else { return try string() }
        guard let index = Int(exactly: number), names.indices.contains(index) else {
            throw problem("\(summary) is not the number of a value")
        }
        return names[index]
    }

    /// Reads a full document name, of any database: a reference may point to another one.
    func documentName() throws(JSONProblem) -> DocumentName {
        let text = try string()
        do throws(DocumentError) { return try DocumentName(text) } catch { throw problem(error.message) }
    }

    func fieldPath() throws(JSONProblem) -> FieldPath {
        let text = try string()
        do throws(DocumentError) { return try FieldPath(rest: text) } catch { throw problem(error.message) }
    }

    private func geoPoint() throws(JSONProblem) -> GeoPoint {
        var point = GeoPoint(latitude: 0, longitude: 0)
        for member in try members() {
            switch member.key {
            case "latitude": point.latitude = try member.value.double()
            case "longitude": point.longitude = try member.value.double()
            default: throw member.unknown
            }
        }
        guard point.isValid else {
            throw problem("latitude must be -90 … 90, longitude -180 … 180")
        }
        return point
    }
}

extension JSONWriter {
    package mutating func value(_ value: Value) {
        functions_step()
        switch value {
        case .null: raw("{\"nullValue\":null}")
        case .boolean(let value): value ? raw("{\"booleanValue\":true}") : raw("{\"booleanValue\":false}")
        case .integer(let value):
            raw("{\"integerValue\":\"")
            integer(Int(value))
            raw("\"}")
        case .double(let value):
            raw("{\"doubleValue\":")
            number(value)
            raw("}")
        case .timestamp(let value):
            raw("{\"timestampValue\":")
            string(value.rfc3339)
            raw("}")
        case .string(let value):
            raw("{\"stringValue\":")
            string(value)
            raw("}")
        case .bytes(let value):
            raw("{\"bytesValue\":")
            string(Base64.encode(value))
            raw("}")
        case .reference(let value):
            raw("{\"referenceValue\":")
            string(value.description)
            raw("}")
        case .geoPoint(let value):
            raw("{\"geoPointValue\":{\"latitude\":")
            number(value.latitude)
            raw(",\"longitude\":")
            number(value.longitude)
            raw("}}")
        case .array(let values):
            raw("{\"arrayValue\":")
            arrayValue(values)
            raw("}")
        case .map(let values):
            raw("{\"mapValue\":{\"fields\":")
            fields(values)
            raw("}}")
        }
    }

    mutating func arrayValue(_ values: [Value]) {
        raw("{\"values\":")
        array(values) { $0.value($1) }
        raw("}")
    }

    /// Writes fields ordered by name, so that equal documents have equal texts.
    package mutating func fields(_ fields: [String: Value]) {
        raw("{")
        list(fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) { text, field in
            text.key(field.key)
            text.value(field.value)
        }
        raw("}")
    }

    mutating func number(_ value: Double) {
        if value.isNaN {
            string("NaN")
        } else if value.isInfinite {
            string(value < 0 ? "-Infinity" : "Infinity")
        } else {
            double(value)
        }
    }
}
