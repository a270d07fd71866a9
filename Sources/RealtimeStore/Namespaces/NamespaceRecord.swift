import DocumentModel

/// What is kept of a namespace beside its nodes.
struct NamespaceRecord: Hashable, Sendable {
    var layout: TreeLayout
    var indexes: [RealtimeIndex] = []
    /// The number of the next index. Numbers aren't used again.
    var nextIndex: UInt32 = 1

    private static let format: UInt8 = 1

    /// Whether no background work is known to be left. Large extents stay as they are.
    var isSettled: Bool {
        layout.garbage.isEmpty && layout.extents.isEmpty && indexes.allSatisfy { $0.state == .ready }
    }

    /// Changes the indexes to those of the definitions. Background work builds and removes the others.
    mutating func configure(_ definitions: [RealtimeIndexDefinition]) {
        var wanted = Set(definitions)
        for place in indexes.indices where indexes[place].state != .dropping {
            if wanted.remove(indexes[place].definition) == nil { indexes[place].state = .dropping }
        }
        for definition in definitions where wanted.remove(definition) != nil {
            indexes.append(RealtimeIndex(number: nextIndex, definition: definition, state: .building))
            nextIndex += 1
        }
    }

    /// Called when the work on an index has ended.
    mutating func finish(_ number: UInt32) {
        guard let place = indexes.firstIndex(where: { $0.number == number }) else { return }
        if indexes[place].state == .dropping { indexes.remove(at: place) } else { indexes[place].state = .ready }
    }

    init(layout: TreeLayout) { self.layout = layout }

    /// The key of a namespace's row.
    static func key(_ name: String) -> [UInt8] { RowKind.namespace.key(name) }

    init(stored row: [UInt8], _ name: String) throws(DecodingFailure) {
        var reader = ByteReader(try SealedRow.open(row, at: Self.key(name), "a namespace"))
        guard try reader.byte() == Self.format else { throw DecodingFailure("a namespace has an unknown format") }
        layout = try TreeLayout(from: &reader)
        indexes = try reader.list { reader throws(DecodingFailure) in try RealtimeIndex(from: &reader) }
        guard let next = UInt32(exactly: try reader.varint()) else {
            throw DecodingFailure("a namespace has too many indexes")
        }
        nextIndex = next
        try reader.finish()
    }

    func stored(_ name: String) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(byte: Self.format)
        layout.write(to: &writer)
        writer.write(indexes) { $1.write(to: &$0) }
        writer.write(varint: UInt64(nextIndex))
        return SealedRow.seal(writer.bytes, at: Self.key(name))
    }
}
