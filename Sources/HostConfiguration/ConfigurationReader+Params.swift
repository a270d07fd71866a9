import FunctionManifest
import StrictJSON

extension ConfigurationReader {
    mutating func params(_ node: JSONNode) -> [String: ParamValue] {
        guard case .object(let members) = node.kind else {
            report("\(node.summary) is not an object of params", at: node.offset)
            return [:]
        }
        var params: [String: ParamValue] = [:]
        for member in members {
            note("params.\(member.key)", member.offset)
            guard ParamManifest.isValidName(member.key) else {
                report(
                    "\"\(member.key)\" is not a param name; use capital letters, digits and _, and don't begin "
                        + "with a digit",
                    at: member.offset)
                continue
            }
            params[member.key] = paramValue(member.value)
        }
        return params
    }

    private mutating func paramValue(_ node: JSONNode) -> ParamValue? {
        switch node.kind {
        case .string(let text): return .string(text)
        case .integer(let number): return .int(Int(number))
        case .double(let number): return .float(number)
        case .boolean(let flag): return .boolean(flag)
        case .array(let elements):
            var texts: [String] = []
            for element in elements {
                guard let text = string(element) else { return nil }
                texts.append(text)
            }
            return .list(texts)
        case .null, .object:
            report(
                "\(node.summary) is not a param value; write a string, a number, true, false or a list of strings",
                at: node.offset)
            return nil
        }
    }
}
