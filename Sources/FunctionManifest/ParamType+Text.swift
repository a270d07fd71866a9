import StrictJSON

extension ParamType {
    /// The value that a text in a file of variables represents; nil if the text isn't valid for this type.
    package func value(of text: String) -> ParamValue? {
        switch self {
        case .string: return .string(text)
        case .int: return Int(text).map { .int($0) }
        case .boolean:
            switch text.lowercased() {
            case "true": return .boolean(true)
            case "false": return .boolean(false)
            default: return nil
            }
        case .list:
            guard case .array(let elements)? = (try? JSONNode(parsing: Array(text.utf8)))?.kind else { return nil }
            var texts: [String] = []
            for element in elements {
                guard case .string(let text) = element.kind else { return nil }
                texts.append(text)
            }
            return .list(texts)
        case .secret: return nil
        }
    }

    package var example: String {
        switch self {
        case .string, .secret: "\"…\""
        case .int: "7"
        case .boolean: "true"
        case .list: "[\"…\"]"
        }
    }

    /// As it is written in a file of variables.
    package var plainExample: String { self == .string ? "…" : example }
}
