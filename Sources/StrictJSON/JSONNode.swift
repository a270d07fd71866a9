import CFunctionsSystem

/// A JSON value with its position in the text.
///
/// Readers of configuration and of requests report errors with a position, so every node keeps its byte offset. A path
/// such as `fields.stock.integerValue` is computed from the offset only for an error.
package struct JSONNode: Sendable {
    package var kind: Kind
    /// The offset of the value's first byte.
    package var offset: Int

    package init(kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }

    package enum Kind: Sendable {
        case null
        case boolean(Bool)
        /// A number without fraction and exponent that fits 64 bits.
        case integer(Int64)
        case double(Double)
        case string(String)
        case array([JSONNode])
        /// In the order of the text; keys are unique.
        case object([Member])
    }

    package struct Member: Sendable {
        package var key: String
        /// The offset of the key's opening quote.
        package var offset: Int
        package var value: JSONNode

        package init(key: String, offset: Int, value: JSONNode) {
            self.key = key
            self.offset = offset
            self.value = value
        }
    }

    /// Becomes null, and frees the memory of all that was in this node: in long work in steps, since a large text at once
    /// would take some ms.
    package mutating func free() {
        guard functions_steps_left() > 0 else { return kind = .null }
        functions_step()
        if case .array(var elements) = kind {
            kind = .null
            while var element = elements.popLast() { element.free() }
        } else if case .object(var members) = kind {
            kind = .null
            while var member = members.popLast() { member.value.free() }
        }
        kind = .null
    }

    /// The value of a key; nil if this isn't an object or has no such key.
    package subscript(_ key: String) -> JSONNode? {
        guard case .object(let members) = kind else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// A description of the value for error messages: "an array", 12.
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

    /// The dotted path from here to the node at `offset`; empty for this node itself, nil if there is none.
    /// A key's offset leads to its value.
    package func path(to offset: Int) -> String? {
        if self.offset == offset { return "" }
        switch kind {
        case .array(let elements):
            // Nodes are ordered by offset: the last one that begins at or before the target contains it.
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

/// An error in a JSON text, or in a value of it, with its position.
package struct JSONProblem: Error, Hashable, Sendable {
    /// The offset of the first byte of what is wrong.
    package var offset: Int
    package var message: String

    package init(offset: Int, message: String) {
        self.offset = offset
        self.message = message
    }
}
