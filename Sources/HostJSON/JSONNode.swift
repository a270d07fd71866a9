/// A JSON value that knows where it stood in its text.
///
/// Readers of configuration and of requests report what is wrong by place, so every node keeps its byte offset. A path
/// such as `fields.stock.integerValue` is worked out from the offset only when there is something to report.
package struct JSONNode: Sendable {
    package var kind: Kind
    /// Bytes before the value's first one.
    package var offset: Int

    package init(kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }

    package enum Kind: Sendable {
        case null
        case boolean(Bool)
        /// A number without fraction and exponent that fits.
        case integer(Int64)
        case double(Double)
        case string(String)
        case array([JSONNode])
        /// In the text's order; keys are unique.
        case object([Member])
    }

    package struct Member: Sendable {
        package var key: String
        /// Bytes before the key's opening quote.
        package var offset: Int
        package var value: JSONNode
    }

    /// The value under a key; nil where this is no object or has no such key.
    package subscript(_ key: String) -> JSONNode? {
        guard case .object(let members) = kind else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// What the value is, for a sentence: "a string", "the number 12".
    package var summary: String {
        switch kind {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): value.utf8.count <= 60 ? "\"\(value)\"" : "a string of \(value.utf8.count) bytes"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The dotted way from here to the node at `offset`; empty for this node itself, nil where there is none.
    /// A key's own offset leads to its value.
    package func path(to offset: Int) -> String? {
        if self.offset == offset { return "" }
        switch kind {
        case .array(let elements):
            // Nodes stand in the order of their offsets: the last one that begins in time holds the target.
            guard let index = elements.lastIndex(where: { $0.offset <= offset }),
                let rest = elements[index].path(to: offset)
            else { return nil }
            return "[\(index)]" + (rest.isEmpty || rest.hasPrefix("[") ? rest : "." + rest)
        case .object(let members):
            guard let member = members.last(where: { $0.offset <= offset }) else { return nil }
            guard member.offset != offset else { return member.key }
            guard let rest = member.value.path(to: offset) else { return nil }
            return member.key + (rest.isEmpty || rest.hasPrefix("[") ? rest : "." + rest)
        default:
            return nil
        }
    }
}

/// What is wrong with a JSON text, or with a value in it, and where.
package struct JSONProblem: Error, Hashable, Sendable {
    /// Bytes before the culprit.
    package var offset: Int
    package var message: String

    package init(offset: Int, message: String) {
        self.offset = offset
        self.message = message
    }
}
