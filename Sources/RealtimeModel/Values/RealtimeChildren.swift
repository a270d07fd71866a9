/// The children of an object, sorted by key.
///
/// They are kept in chunks, so that a change among many children moves few of them, and so that an old and a new version
/// share the chunks that are the same.
package struct RealtimeChildren: Sendable {
    package typealias Child = (key: RealtimeKey, node: RealtimeNode)

    /// No chunk is empty.
    private(set) var chunks: [[Child]] = []
    package private(set) var count = 0

    /// A chunk with more children is split.
    private static let largestChunk = 256
    /// The size of chunks that are made at once.
    private static let filledChunk = 192
    /// A chunk with fewer children is joined with its neighbour if they fit one.
    private static let smallestChunk = 64

    package init() {}

    /// - Precondition: the children are sorted by key, and no key is repeated.
    package init(sorted children: [Child]) {
        count = children.count
        if count <= Self.largestChunk {
            if count > 0 { chunks = [children] }
            return
        }
        chunks.reserveCapacity(count / Self.filledChunk + 1)
        for start in stride(from: 0, to: count, by: Self.filledChunk) {
            chunks.append(Array(children[start..<Swift.min(start + Self.filledChunk, count)]))
        }
    }

    package var isEmpty: Bool { count == 0 }

    package var first: Child? { chunks.first?.first }
    package var last: Child? { chunks.last?.last }

    package subscript(key: RealtimeKey) -> RealtimeNode? {
        let (chunk, index, isFound) = place(of: key)
        return isFound ? chunks[chunk][index].node : nil
    }

    /// Changes, adds or removes the child of a key.
    ///
    /// - Parameter change: Receives the child, or nil if there is none, and leaves the new one, or nil. It is alone in
    ///   holding the child unless another version does.
    package mutating func update(_ key: RealtimeKey, _ change: (inout RealtimeNode?) -> Void) {
        let (chunk, index, isFound) = place(of: key)
        guard isFound else {
            var child: RealtimeNode?
            change(&child)
            if let child { insert((key, child), in: chunk, at: index) }
            return
        }
        var child: RealtimeNode? = chunks[chunk][index].node
        // The chunk's own reference would make the child shared, and each change copy it.
        chunks[chunk][index].node = .placeholder
        change(&child)
        if let child { chunks[chunk][index].node = child } else { remove(in: chunk, at: index) }
    }

    /// The chunk and the position in it of a key, or where it would be inserted.
    private func place(of key: RealtimeKey) -> (chunk: Int, index: Int, isFound: Bool) {
        guard let last = chunks.last?.last else { return (0, 0, false) }
        let order = RealtimeKey.compare(key, last.key)
        if order > 0 { return (chunks.count - 1, chunks[chunks.count - 1].count, false) }
        // The last chunk that begins at or before the key, or the first one.
        var (low, high) = (0, chunks.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if RealtimeKey.compare(chunks[middle][0].key, key) <= 0 { low = middle } else { high = middle }
        }
        let (index, isFound) = Self.index(of: key, in: chunks[low])
        return (low, index, isFound)
    }

    private static func index(of key: RealtimeKey, in chunk: [Child]) -> (index: Int, isFound: Bool) {
        var (low, high) = (0, chunk.count)
        while low < high {
            let middle = (low + high) / 2
            let order = RealtimeKey.compare(chunk[middle].key, key)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    private mutating func insert(_ child: Child, in chunk: Int, at index: Int) {
        count += 1
        guard chunk < chunks.count else { return chunks.append([child]) }
        chunks[chunk].insert(child, at: index)
        guard chunks[chunk].count > Self.largestChunk else { return }
        // Children that are appended in the order of their keys leave full chunks behind.
        let isAppended = chunk == chunks.count - 1 && index == chunks[chunk].count - 1
        let kept = isAppended ? Self.filledChunk : Self.largestChunk / 2
        let moved = Array(chunks[chunk][kept...])
        chunks[chunk].removeSubrange(kept...)
        chunks.insert(moved, at: chunk + 1)
    }

    private mutating func remove(in chunk: Int, at index: Int) {
        count -= 1
        chunks[chunk].remove(at: index)
        guard chunks[chunk].count < Self.smallestChunk else { return }
        if chunks[chunk].isEmpty {
            chunks.remove(at: chunk)
        } else if chunk + 1 < chunks.count, chunks[chunk].count + chunks[chunk + 1].count <= Self.filledChunk {
            chunks[chunk] += chunks.remove(at: chunk + 1)
        } else if chunk > 0, chunks[chunk - 1].count + chunks[chunk].count <= Self.filledChunk {
            chunks[chunk - 1] += chunks.remove(at: chunk)
        }
    }
}

extension RealtimeChildren: Sequence {
    package func makeIterator() -> FlattenSequence<[[Child]]>.Iterator { chunks.joined().makeIterator() }

    package var underestimatedCount: Int { count }

    /// The children from the last to the first.
    package var reversedByKey: some Sequence<Child> { chunks.reversed().lazy.flatMap { $0.reversed() } }
}

extension RealtimeChildren: Equatable {
    package static func == (a: RealtimeChildren, b: RealtimeChildren) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { $0.key == $1.key && $0.node == $1.node }
    }
}
