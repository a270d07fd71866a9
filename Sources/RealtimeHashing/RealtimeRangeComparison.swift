package import RealtimeModel

/// Compares a node's rows with a client's compound hash, and keeps the leaves of the ranges that differ.
///
/// A range's text nests its leaves in the keys from the root: `("a":("b":(number:…),"c":(string:"x")))`. An object's
/// priority is a leaf with the key `.priority`, whose place is that of such a key.
package struct RealtimeRangeComparison: RealtimeRowReceiver {
    private let expected: RealtimeCompoundHash
    /// The current range's position in the compound hash.
    private var index = 0
    private var text: RangeText?
    private var content = RealtimeNodeBuilder()
    private var ranges: [RealtimeRange] = []
    /// The priorities of open objects whose place is still ahead, the next one first.
    private var pending: [(place: RealtimeTarget, priority: RealtimePriority)] = []
    private var isInexpressible = false
    /// What the ranges that differ may take in memory.
    private let maxBytes: Int
    /// What they take, and the content of the current range.
    private var bytes = 0
    private var contentBytes = 0
    private var isTooLarge = false
    /// The ranges that begin at, or below, a leaf with a priority. Clients take the priority for something within such a
    /// range, and would remove it.
    private var endangering: Set<Int> = []

    /// - Parameter maxBytes: what the ranges that differ may take in memory, about.
    package init(with expected: RealtimeCompoundHash, maxBytes: Int = .max) {
        self.expected = expected
        self.maxBytes = maxBytes
    }

    package mutating func priority(_ priority: RealtimePriority, at path: RealtimePath) {
        let place = RealtimeTarget(path, isPriority: true)
        sendPending(before: RealtimeTarget(path))
        let next = pending.firstIndex { place < $0.place } ?? pending.count
        pending.insert((place, priority), at: next)
    }

    package mutating func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at path: RealtimePath) {
        let place = RealtimeTarget(path)
        sendPending(before: place)
        begin(at: place)
        if priority != nil {
            var range = index
            while range < expected.paths.count, place.path.contains(expected.paths[range].path) {
                range += 1
                endangering.insert(range)
            }
        }
        text?.append(leaf, priority: priority, at: place)
        if fits(leaf, at: path) { content.leaf(leaf, priority: priority, at: path) }
    }

    /// Counts a leaf of the current range, which isn't kept any more once there is too much.
    private mutating func fits(_ leaf: RealtimeLeaf, at path: RealtimePath) -> Bool {
        contentBytes += path.keys.reduce(32) { $0 + $1.string.utf8.count }
        if case .string(let text) = leaf { contentBytes += text.utf8.count }
        return bytes + contentBytes <= maxBytes
    }

    /// The ranges that differ, in their order; empty if none does.
    ///
    /// Clients don't hash an object's priority after which no child comes. So if any range differs, the last one is
    /// returned too, which removes such a priority; and a client whose whole hash differs although no range does needs
    /// all data.
    ///
    /// - Returns: nil if no message can express the difference, so that the client needs all data: a range has an object's
    ///   priority and none of its children, or begins at a leaf with a priority, or all that differ are too large.
    package mutating func finalize() -> [RealtimeRange]? {
        sendPending(before: nil)
        while index < expected.hashes.count { endRange() }
        guard !isInexpressible, !isTooLarge else { return nil }
        if let last = expected.paths.last, let range = ranges.last, range.end != nil {
            guard !endangering.contains(expected.paths.count) else { return nil }
            ranges.append(RealtimeRange(start: last, end: nil, node: nil))
        }
        return ranges
    }

    private mutating func sendPending(before place: RealtimeTarget?) {
        while let next = pending.first, place.map({ next.place < $0 }) ?? true {
            pending.removeFirst()
            begin(at: next.place)
            text?.append(next.priority.leaf, priority: nil, at: next.place)
            if fits(next.priority.leaf, at: next.place.path) { content.priority(next.priority, at: next.place.path) }
        }
    }

    /// Ends the ranges before a leaf.
    private mutating func begin(at place: RealtimeTarget) {
        while index < expected.paths.count, expected.paths[index] < place { endRange() }
        if text == nil { text = RangeText() }
    }

    private mutating func endRange() {
        let hash = text?.finalize() ?? ""
        text = nil
        let node = content.finalize()
        if hash != expected.hashes[index] {
            if content.hasDroppedPriority || endangering.contains(index) { isInexpressible = true }
            let paths = expected.paths
            bytes += contentBytes
            isTooLarge = bytes > maxBytes
            if !isTooLarge {
                ranges.append(
                    RealtimeRange(
                        start: index > 0 ? paths[index - 1] : nil, end: index < paths.count ? paths[index] : nil,
                        node: node
                    ))
            }
        }
        content = RealtimeNodeBuilder()
        contentBytes = 0
        index += 1
    }
}

/// The text of a range, while its leaves are added.
private struct RangeText {
    private var digest = RealtimeDigest()
    private var open: [String] = []
    private var isEmpty = true

    init() { digest.append("(" as StaticString) }

    mutating func append(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at place: RealtimeTarget) {
        let names = place.path.keys.map(\.string) + (place.isPriority ? [".priority"] : [])
        let shared = zip(open, names).prefix { RealtimeText.equal($0, $1) }.count
        close(to: shared)
        for (position, name) in names.enumerated().dropFirst(shared) {
            if position == shared, !isEmpty { digest.append("," as StaticString) }
            digest.append(quoted: name)
            digest.append(":(" as StaticString)
            open.append(name)
        }
        digest.append(priority, isQuoted: true)
        digest.append(leaf, isQuoted: true)
        isEmpty = false
    }

    mutating func finalize() -> String {
        close(to: 0)
        digest.append(")" as StaticString)
        return digest.finalize()
    }

    private mutating func close(to depth: Int) {
        while open.count > depth {
            open.removeLast()
            digest.append(")" as StaticString)
        }
    }
}

extension RealtimeNode? {
    /// The ranges in which the node differs from a client's compound hash.
    ///
    /// - Parameter maxBytes: what the ranges may take in memory, about.
    /// - Returns: nil if no message can express the difference, or if it is too large: the client then needs all data.
    package func ranges(differingFrom hash: RealtimeCompoundHash, maxBytes: Int = .max) -> [RealtimeRange]? {
        var comparison = RealtimeRangeComparison(with: hash, maxBytes: maxBytes)
        self?.send(to: &comparison)
        return comparison.finalize()
    }
}
