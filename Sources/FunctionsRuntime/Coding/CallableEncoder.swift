import StrictJSON

/// Encodes a callable's result, a chunk or an error's details as JSON.
///
/// `Date` and `Timestamp` become RFC 3339 strings, `Data` becomes base64, and a `URL` its string. A `Decimal` becomes a
/// number: an integer, or the nearest double.
package struct CallableEncoder: Sendable {
    private let root: String
    private let wrapping: IntegerWrapping
    private let isRealtime: Bool

    /// - Parameters:
    ///   - root: The name of the whole value in errors, as in `result.items[3]`.
    ///   - wrapsIntegers: Whether integers beyond ±(2^53 − 1) are wrapped, as callables' clients in JavaScript expect them.
    ///     What ends a line for one of their clients is escaped, too.
    ///   - isRealtime: Whether the value is for the Realtime Database: integers that it would round are refused, and a
    ///     missing ``ServerTimestamp`` is the database's time.
    package init(root: String = "result", wrapsIntegers: Bool = true, isRealtime: Bool = false) {
        self.init(root: root, wrapping: wrapsIntegers ? .all : .none, isRealtime: isRealtime)
    }

    private init(root: String, wrapping: IntegerWrapping, isRealtime: Bool) {
        self.root = root
        self.wrapping = wrapping
        self.isRealtime = isRealtime
    }

    /// Encodes an error's details. Android's SDK reports INTERNAL instead of an error whose details have a wrapped integer
    /// beyond Int64's bounds, and reads it as a number.
    package static let details = CallableEncoder(root: "details", wrapping: .signed, isRealtime: false)

    /// The value as JSON text.
    ///
    /// - Throws: `EncodingError`, with the path of a value that JSON can't represent.
    package func encode(_ value: some Encodable) throws -> [UInt8] {
        let node = try NodeEncoder(isRealtime ? .realtime : .json, root: root).encodeRoot(value)
        var writer = JSONWriter(capacity: 256)
        do throws(JSONError) {
            if isRealtime { try node.requireExactIntegers() }
            try writer.node(node, wrapping)
        } catch {
            let path = [PathKey.name(root)] + error.path
            throw EncodingError.invalidValue(JSONValue.self, .init(codingPath: path, debugDescription: error.reason))
        }
        // An event of a stream is one line: iOS splits lines at these characters, and a browser's pattern ends at two of
        // them.
        if wrapping != .none { writer.escapeLineEnds() }
        return writer.bytes
    }
}

extension JSONWriter {
    /// - Throws: If a number is infinite or not a number, or a child can't be represented in JSON.
    fileprivate mutating func node(_ node: EncodedNode, _ wrapping: IntegerWrapping) throws(JSONError) {
        switch node {
        case .json(let value): try self.value(value, wrapping: wrapping)
        case .array(let children):
            try elements(children) { (writer, child) throws(JSONError) in try writer.node(child, wrapping) }
        case .map(let fields):
            try members(fields) { (writer, child) throws(JSONError) in try writer.node(child, wrapping) }
        case .field: throw JSONError(.unrepresentable("a FieldValue is written to documents only"))
        }
    }
}

extension EncodedNode {
    /// - Throws: ``JSONValue/requireExactIntegers()``'s error, with the path from here.
    fileprivate func requireExactIntegers() throws(JSONError) {
        switch self {
        case .json(let value): try value.requireExactIntegers()
        case .array(let children):
            for (index, child) in children.enumerated() {
                do throws(JSONError) { try child.requireExactIntegers() } catch { throw error.inside(.index(index)) }
            }
        case .map(let fields):
            for (key, child) in fields.entries {
                do throws(JSONError) { try child.requireExactIntegers() } catch { throw error.inside(.name(key)) }
            }
        case .field: break
        }
    }
}
