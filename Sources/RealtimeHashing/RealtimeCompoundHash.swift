package import StrictJSON
package import RealtimeModel

/// The hashes that mobile clients send of much data: one for each range of leaves.
///
/// Hash i covers the leaves after path i − 1 up to and with path i, and the last one, which is empty, what follows.
package struct RealtimeCompoundHash: Hashable, Sendable {
    /// One more than there are paths.
    package let hashes: [String]
    /// The last leaf of each range, from the place that is listened to.
    package let paths: [RealtimeTarget]

    /// - Returns: nil if the numbers don't match, or if the paths aren't in order.
    package init?(hashes: [String], paths: [RealtimeTarget]) {
        guard hashes.count == paths.count + 1, zip(paths, paths.dropFirst()).allSatisfy({ $0 < $1 }) else { return nil }
        self.hashes = hashes
        self.paths = paths
    }

    /// Reads the `ch` of a listen request.
    ///
    /// - Returns: nil if it isn't a compound hash. A listen then receives all data, as without one.
    package init?(_ json: JSONValue) {
        guard let hashes = json["hs"]?.arrayValue, let paths = json["ps"]?.arrayValue else { return nil }
        let targets = paths.compactMap { path in path.stringValue.flatMap { try? RealtimeTarget($0) } }
        guard targets.count == paths.count else { return nil }
        self.init(hashes: hashes.compactMap(\.stringValue), paths: targets)
    }
}

/// The current leaves of a range that differs from the client's.
package struct RealtimeRange: Equatable, Sendable {
    /// The range begins after this leaf; nil if it begins with the first one.
    package var start: RealtimeTarget?
    /// The range ends with this leaf; nil if it ends with the last one.
    package var end: RealtimeTarget?
    /// Nil if the range has no leaves.
    package var node: RealtimeNode?
}

extension JSONWriter {
    /// Appends the ranges as the `d` of an `rm` push.
    package mutating func realtime(_ ranges: [RealtimeRange]) {
        array(ranges) { writer, range in
            writer.raw("{")
            if let start = range.start {
                writer.key("s")
                writer.string(start.string)
                writer.raw(",")
            }
            if let end = range.end {
                writer.key("e")
                writer.string(end.string)
                writer.raw(",")
            }
            writer.key("m")
            writer.realtime(range.node, as: .export)
            writer.raw("}")
        }
    }
}
