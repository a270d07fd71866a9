package import DocumentModel

/// The generations of the data that readers cache (``DataKind/generation``), by kind.
///
/// The version's row has that of the first kind, then the id and generation of each other kind, in the order of their
/// ids. So the row of a store without other kinds is as it was before there were any.
package struct KindGenerations: Hashable, Sendable {
    /// Nil if the store was written by a version of the program without generations.
    var first: Int64?
    private var others: [UInt8: Int64] = [:]

    package init() {}

    /// No generation is negative.
    package subscript(kind: any DataKind.Type) -> Int64? {
        get { kind.id == 0 ? first : others[kind.id] }
        set { if kind.id == 0 { first = newValue } else { others[kind.id] = newValue } }
    }

    /// The same with what kinds have now.
    func updated(by kinds: [any DataKind]) -> KindGenerations {
        var generations = self
        for kind in kinds {
            if let generation = kind.generation { generations[type(of: kind)] = generation }
        }
        return generations
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        guard reader.remaining > 0 else { return }
        let first = try reader.signed()
        if first != Self.none { self.first = first }
        while reader.remaining > 0 {
            let id = try reader.byte()
            others[id] = try reader.signed()
        }
    }

    package func write(to writer: inout ByteWriter) {
        if first != nil || !others.isEmpty { writer.write(signed: first ?? Self.none) }
        for (id, generation) in others.sorted(by: { $0.key < $1.key }) {
            writer.write(byte: id)
            writer.write(signed: generation)
        }
    }

    /// Stands for the first kind's generation if only others have one.
    private static let none: Int64 = -1
}
