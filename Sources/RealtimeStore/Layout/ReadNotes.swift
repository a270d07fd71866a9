import StorageEngine

/// What was read of a namespace's rows, to find out whether a later change concerns it.
///
/// Used by one thread at a time: the reader's, then the writer's.
final class ReadNotes: @unchecked Sendable {
    struct Range {
        var range: KeyRange
        /// Whether only the paths were looked at: a row that is replaced doesn't matter.
        var pathsOnly: Bool
    }

    private(set) var paths: Set<[UInt8]> = []
    private(set) var ranges: [Range] = []

    init() {}

    func add(_ path: [UInt8]) { paths.insert(path) }

    /// - Parameter last: where a scan ended; nil if it came to the end of the range.
    func add(_ range: KeyRange, upTo last: ArraySlice<UInt8>? = nil, reverse: Bool = false, pathsOnly: Bool) {
        var range = range
        if let last {
            if reverse { range.lower = Array(last) } else { range.upper = Array(last) + [0] }
        }
        if let same = ranges.last, same.range == range, same.pathsOnly == pathsOnly { return }
        ranges.append(Range(range: range, pathsOnly: pathsOnly))
    }
}
