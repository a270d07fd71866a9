extension JSONNode {
    /// A text's JSON, written so that the order of its objects' keys, white space and escapes make no difference. Numbers
    /// stay as they are written.
    ///
    /// - Parameter maxValues: keys don't count.
    /// - Returns: nil if the text isn't valid JSON, or has more values.
    package static func canonicalText(of text: UnsafeRawBufferPointer, maxValues: Int) -> [UInt8]? {
        guard let node = try? JSONNode(parsing: text, maxValues: maxValues) else { return nil }
        var writer = JSONWriter(capacity: text.count)
        writer.canonical(node, of: text)
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func canonical(_ node: JSONNode, of text: UnsafeRawBufferPointer) {
        switch node.kind {
        case .null: null()
        case .boolean(let value): boolean(value)
        case .integer, .double: bytes.append(contentsOf: text[node.range(in: text)])
        case .string(let value): string(value)
        case .array(let elements): array(elements) { $0.canonical($1, of: text) }
        case .object(let members):
            raw("{")
            list(members.sorted { $0.key < $1.key }) { writer, member in
                writer.key(member.key)
                writer.canonical(member.value, of: text)
            }
            raw("}")
        }
    }
}
