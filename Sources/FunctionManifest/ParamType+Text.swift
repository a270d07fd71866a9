import StrictJSON

extension ParamType {
    /// The value that a text in a file of variables represents; nil if the text isn't valid for this type.
    package func value(of text: String) -> ParamValue? {
        switch self {
        case .string: return .string(text)
        case .int: return Int(text).map { .int($0) }
        case .float: return Self.number(text).map { .float($0) }
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

    /// A number in decimal notation: what Swift reads besides, such as `nan` and `0x1p3`, is a mistake in a file.
    private static func number(_ text: String) -> Double? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) || "+-.eE".utf8.contains($0) }) else { return nil }
        return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    /// The value of this type that a value of JSON represents; nil if it isn't valid for this type. An integer is a
    /// number, too.
    package func value(of value: ParamValue) -> ParamValue? {
        if case (.float, .int(let number)) = (self, value) { return .float(Double(number)) }
        return value.type == self ? value : nil
    }

    package var example: String {
        switch self {
        case .string, .secret: "\"…\""
        case .int: "7"
        case .float: "0.5"
        case .boolean: "true"
        case .list: "[\"…\"]"
        }
    }

    /// As it is written in a file of variables.
    package var plainExample: String { self == .string ? "…" : example }
}
