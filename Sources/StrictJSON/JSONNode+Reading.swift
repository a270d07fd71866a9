import CFunctionsSystem

extension JSONNode {
    package func problem(_ message: String) -> JSONProblem { JSONProblem(offset: offset, message: message) }

    /// An object's members that aren't null: in protobuf's JSON, null means omitted.
    package func members() throws(JSONProblem) -> [Member] {
        functions_step()
        guard case .object(let members) = kind else { throw problem("\(summary) is not an object") }
        return members.filter { if case .null = $0.value.kind { false } else { true } }
    }

    package func elements() throws(JSONProblem) -> [JSONNode] {
        guard case .array(let elements) = kind else { throw problem("\(summary) is not an array") }
        return elements
    }

    package func string() throws(JSONProblem) -> String {
        guard case .string(let string) = kind else { throw problem("\(summary) is not a string") }
        return string
    }

    package func boolean() throws(JSONProblem) -> Bool {
        guard case .boolean(let boolean) = kind else { throw problem("\(summary) is not a boolean") }
        return boolean
    }

    /// Protobuf's JSON accepts an integer as a number, also with a fraction of zero, and as a string.
    package func integer() throws(JSONProblem) -> Int64 {
        switch kind {
        case .integer(let integer): return integer
        case .double(let double):
            if let integer = Int64(whole: double) { return integer }
        case .string(let text):
            if text.utf8.first != UInt8(ascii: "+"), let integer = Int64(text) { return integer }
        default: break
        }
        throw problem("\(summary) is not a 64-bit integer")
    }

    /// Protobuf's JSON accepts a double as a number and as a string, which is the only form of NaN and Infinity.
    package func double() throws(JSONProblem) -> Double {
        switch kind {
        case .integer(let integer): return Double(integer)
        case .double(let double): return double
        case .string("NaN"): return .nan
        case .string("Infinity"): return .infinity
        case .string("-Infinity"): return -.infinity
        case .string(let text):
            let isNumeric = text.utf8.allSatisfy { (48...57).contains($0) || "+-.eE".utf8.contains($0) }
            if isNumeric, let double = Double(text), double.isFinite { return double }
        default: break
        }
        throw problem("\(summary) is not a double")
    }
}

extension JSONNode.Member {
    /// The error for a key that a message doesn't have.
    package var unknown: JSONProblem { JSONProblem(offset: offset, message: "unknown key") }
}
