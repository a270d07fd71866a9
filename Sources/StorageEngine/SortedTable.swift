/// An ordered map of byte strings in chunks, so that a change copies one chunk and not all.
struct SortedTable: Sendable {
    private typealias Entry = (key: [UInt8], value: [UInt8])
    private static let maxChunk = 256

    /// No chunk is empty; each ends before the next begins.
    private var chunks: [[(key: [UInt8], value: [UInt8])]] = []

    subscript(_ key: [UInt8]) -> [UInt8]? {
        let chunk = chunk(of: key)
        guard chunk < chunks.count else { return nil }
        let position = position(of: key, in: chunks[chunk])
        guard position < chunks[chunk].count, chunks[chunk][position].key == key else { return nil }
        return chunks[chunk][position].value
    }

    mutating func put(_ key: [UInt8], _ value: [UInt8]) {
        guard !chunks.isEmpty else {
            chunks.append([(key, value)])
            return
        }
        let chunk = min(chunk(of: key), chunks.count - 1)
        let position = position(of: key, in: chunks[chunk])
        if position < chunks[chunk].count, chunks[chunk][position].key == key {
            chunks[chunk][position].value = value
            return
        }
        chunks[chunk].insert((key, value), at: position)
        if chunks[chunk].count > Self.maxChunk {
            let upper = Array(chunks[chunk][(Self.maxChunk / 2)...])
            chunks[chunk].removeSubrange((Self.maxChunk / 2)...)
            chunks.insert(upper, at: chunk + 1)
        }
    }

    mutating func delete(_ key: [UInt8]) {
        let chunk = chunk(of: key)
        guard chunk < chunks.count else { return }
        let position = position(of: key, in: chunks[chunk])
        guard position < chunks[chunk].count, chunks[chunk][position].key == key else { return }
        chunks[chunk].remove(at: position)
        if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
    }

    func scan(_ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool) rethrows {
        guard !range.isEmpty else { return }
        if reverse {
            let end = range.upper.map { min(chunk(of: $0) + 1, chunks.count) } ?? chunks.count
            for chunk in chunks[..<end].reversed() {
                for entry in chunk.reversed() {
                    if let upper = range.upper, !entry.key.lexicographicallyPrecedes(upper) { continue }
                    if entry.key.lexicographicallyPrecedes(range.lower) { return }
                    guard try body(entry.key, entry.value) else { return }
                }
            }
        } else {
            var chunk = chunk(of: range.lower)
            var position = chunk < chunks.count ? position(of: range.lower, in: chunks[chunk]) : 0
            while chunk < chunks.count {
                while position < chunks[chunk].count {
                    let entry = chunks[chunk][position]
                    if let upper = range.upper, !entry.key.lexicographicallyPrecedes(upper) { return }
                    guard try body(entry.key, entry.value) else { return }
                    position += 1
                }
                chunk += 1
                position = 0
            }
        }
    }

    /// The first chunk whose last key is not before `key`; the count of chunks if there is none.
    private func chunk(of key: [UInt8]) -> Int {
        Self.firstIndex(below: chunks.count) { chunks[$0][chunks[$0].count - 1].key.lexicographicallyPrecedes(key) }
    }

    private func position(of key: [UInt8], in chunk: [Entry]) -> Int {
        Self.firstIndex(below: chunk.count) { chunk[$0].key.lexicographicallyPrecedes(key) }
    }

    /// The first index for which `isBefore` is false, given that it is true for all below that.
    private static func firstIndex(below count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
