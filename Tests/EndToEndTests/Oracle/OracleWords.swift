/// The words of the REST API, as JSON texts.
enum OracleWords {
    // MARK: Values

    static let null = #"{"nullValue":null}"#
    static func boolean(_ value: Bool) -> String { #"{"booleanValue":\#(value)}"# }
    static func integer(_ value: Int64) -> String { #"{"integerValue":"\#(value)"}"# }

    static func double(_ value: Double) -> String {
        if value.isNaN { return #"{"doubleValue":"NaN"}"# }
        if value.isInfinite { return #"{"doubleValue":"\#(value < 0 ? "-" : "")Infinity"}"# }
        return #"{"doubleValue":\#(value)}"#
    }

    static func time(_ text: String) -> String { #"{"timestampValue":"\#(text)"}"# }
    static func text(_ text: String) -> String { #"{"stringValue":\#(quoted(text))}"# }
    static func bytes(_ base64: String) -> String { #"{"bytesValue":"\#(base64)"}"# }
    static func reference(_ path: String) -> String { #"{"referenceValue":"\#(OraclePair.name)/\#(path)"}"# }

    static func place(_ latitude: Double, _ longitude: Double) -> String {
        #"{"geoPointValue":{"latitude":\#(latitude),"longitude":\#(longitude)}}"#
    }

    static func array(_ values: [String]) -> String {
        #"{"arrayValue":{"values":[\#(values.joined(separator: ","))]}}"#
    }

    static func array(_ values: String...) -> String { array(values) }

    static func map(_ fields: [String: String]) -> String { #"{"mapValue":{"fields":\#(object(fields))}}"# }

    static func vector(_ numbers: [Double]) -> String {
        map(["__type__": text("__vector__"), "value": array(numbers.map(double))])
    }

    // MARK: Writes

    /// - Parameter extra: further members, such as `currentDocument`.
    static func set(_ path: String, _ fields: [String: String], extra: String = "") -> String {
        #"{"update":{"name":\#(quoted(OraclePair.name + "/" + path)),"fields":\#(object(fields))}"#
            + (extra.isEmpty ? "}" : ",\(extra)}")
    }

    static func update(_ path: String, _ fields: [String: String], mask: [String], extra: String = "") -> String {
        let mask = #""updateMask":{"fieldPaths":[\#(mask.map(quoted).joined(separator: ","))]}"#
        return set(path, fields, extra: extra.isEmpty ? mask : mask + "," + extra)
    }

    static func transform(_ path: String, _ transforms: String..., extra: String = "") -> String {
        transform(path, transforms[...], extra: extra)
    }

    static func transform(_ path: String, _ transforms: ArraySlice<String>, extra: String = "") -> String {
        let transforms = #""updateTransforms":[\#(transforms.joined(separator: ","))]"#
        return update(path, [:], mask: [], extra: extra.isEmpty ? transforms : transforms + "," + extra)
    }

    static func transforming(_ field: String, _ operation: String, _ operand: String) -> String {
        #"{"fieldPath":\#(quoted(field)),"\#(operation)":\#(operand)}"#
    }

    static func delete(_ path: String, extra: String = "") -> String {
        #"{"delete":"\#(OraclePair.name)/\#(path)""# + (extra.isEmpty ? "}" : ",\(extra)}")
    }

    static func verify(_ path: String, extra: String = "") -> String {
        #"{"verify":"\#(OraclePair.name)/\#(path)""# + (extra.isEmpty ? "}" : ",\(extra)}")
    }

    // MARK: Queries

    static func query(
        _ collection: String, group: Bool = false, where filter: String? = nil, order: [String] = [],
        extra: String = ""
    ) -> String {
        var members = [
            #""from":[{"collectionId":\#(quoted(collection))\#(group ? #","allDescendants":true"# : "")}]"#
        ]
        if let filter { members.append(#""where":\#(filter)"#) }
        if !order.isEmpty { members.append(#""orderBy":[\#(order.joined(separator: ","))]"#) }
        if !extra.isEmpty { members.append(extra) }
        return "{" + members.joined(separator: ",") + "}"
    }

    static func filter(_ field: String, _ operation: String, _ value: String) -> String {
        #"{"fieldFilter":{"field":{"fieldPath":\#(quoted(field))},"op":"\#(operation)","value":\#(value)}}"#
    }

    static func unary(_ field: String, _ operation: String) -> String {
        #"{"unaryFilter":{"field":{"fieldPath":\#(quoted(field))},"op":"\#(operation)"}}"#
    }

    static func all(_ filters: [String]) -> String { composite("AND", filters) }
    static func all(_ filters: String...) -> String { composite("AND", filters) }
    static func any(_ filters: String...) -> String { composite("OR", filters) }
    static func any(_ filters: [String]) -> String { composite("OR", filters) }

    private static func composite(_ operation: String, _ filters: [String]) -> String {
        #"{"compositeFilter":{"op":"\#(operation)","filters":[\#(filters.joined(separator: ","))]}}"#
    }

    static func by(_ field: String, descending: Bool = false) -> String {
        #"{"field":{"fieldPath":\#(quoted(field))},"direction":"\#(descending ? "DESCENDING" : "ASCENDING")"}"#
    }

    static func start(_ values: [String], before: Bool) -> String { cursor("startAt", values, before) }
    static func end(_ values: [String], before: Bool) -> String { cursor("endAt", values, before) }

    private static func cursor(_ name: String, _ values: [String], _ before: Bool) -> String {
        #""\#(name)":{"values":[\#(values.joined(separator: ","))],"before":\#(before)}"#
    }

    // MARK: JSON

    static func object(_ members: [String: String]) -> String {
        "{" + members.map { "\(quoted($0.key)):\($0.value)" }.joined(separator: ",") + "}"
    }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..<" ": quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
