import TextFormats

/// What a write addresses: the value at a path, or the priority there (`a/b/.priority`).
package struct RealtimeTarget: Hashable, Sendable {
    package var path: RealtimePath
    package var isPriority: Bool

    package init(_ path: RealtimePath, isPriority: Bool = false) {
        self.path = path
        self.isPriority = isPriority
    }

    /// Reads a target as clients write it in messages.
    ///
    /// - Throws: `invalidPath` with the text, or `tooDeep`.
    package init(_ text: some StringProtocol) throws(RealtimeError) {
        let (keys, isPriority) = try Self.keys(of: text, isEncoded: false, allowsPriority: true)
        self.init(RealtimePath(unchecked: keys), isPriority: isPriority)
    }

    /// Reads a URL's path without its `.json`: each segment is percent-encoded.
    ///
    /// - Throws: `invalidPath` with the text, or `tooDeep`.
    package init(percentEncoded text: some StringProtocol) throws(RealtimeError) {
        let (keys, isPriority) = try Self.keys(of: text, isEncoded: true, allowsPriority: true)
        self.init(RealtimePath(unchecked: keys), isPriority: isPriority)
    }

    /// The target of a path from here. The caller keeps within the limit on depth.
    package func appending(_ relative: RealtimeTarget) -> RealtimeTarget {
        RealtimeTarget(
            RealtimePath(unchecked: path.keys + relative.path.keys), isPriority: isPriority || relative.isPriority)
    }

    /// Whether a write of this target also writes the other one.
    package func contains(_ other: RealtimeTarget) -> Bool {
        isPriority ? self == other : path.contains(other.path)
    }

    /// The target from an ancestor of its path; nil if the path doesn't contain this one.
    package func relative(to ancestor: RealtimePath) -> RealtimeTarget? {
        path.relative(to: ancestor).map { RealtimeTarget($0, isPriority: isPriority) }
    }

    /// The path as clients write it, without a slash at either end.
    package var string: String {
        guard isPriority else { return path.string }
        return path.isRoot ? ".priority" : path.string + "/.priority"
    }

    /// The keys of a path, and whether `.priority` follows them.
    static func keys(
        of text: some StringProtocol, isEncoded: Bool, allowsPriority: Bool
    ) throws(RealtimeError) -> (keys: [RealtimeKey], isPriority: Bool) {
        let text = String(text)
        let invalid = RealtimeError(.invalidPath(text))
        var keys: [RealtimeKey] = []
        var isPriority = false
        for segment in text.utf8.split(separator: UInt8(ascii: "/")) {
            guard !isPriority else { throw invalid }
            let string = isEncoded ? PercentEncoding.decoded(bytes: segment) : String(Substring(segment))
            guard let string else { throw invalid }
            if allowsPriority, string == ".priority" {
                isPriority = true
                continue
            }
            guard RealtimeKey.isValid(string) else { throw invalid }
            keys.append(RealtimeKey(unchecked: string))
        }
        guard keys.count <= RealtimeLimits.maxDepth else { throw RealtimeError(.tooDeep) }
        return (keys, isPriority)
    }
}

extension RealtimeTarget: Comparable {
    /// The order of a walk: a path before all below it, where a priority has the place of a key `.priority`.
    package static func < (a: RealtimeTarget, b: RealtimeTarget) -> Bool {
        let (first, second) = (a.path.keys, b.path.keys)
        let shared = min(first.count, second.count)
        for index in 0..<shared {
            let order = RealtimeKey.compare(first[index], second[index])
            if order != 0 { return order < 0 }
        }
        switch (a.name(at: shared), b.name(at: shared)) {
        case (_, nil): return false
        case (nil, _): return true
        case (let first?, let second?): return RealtimeKeyOrder.compare(first, second) < 0
        }
    }

    private func name(at index: Int) -> String? {
        index < path.depth ? path.keys[index].string : isPriority ? ".priority" : nil
    }
}

extension RealtimeTarget: CustomStringConvertible {
    package var description: String { "/" + string }
}
