/// Suggests a known name for an unknown one.
package enum NearestName {
    /// The known name that is at most two edits away, fewer for a short name; upper and lower case don't count.
    package static func of(_ name: String, in known: some Sequence<String>) -> String? {
        let bound = min(2, max(1, name.count / 3))
        return known.map { ($0, distance(name.lowercased(), $0.lowercased())) }
            .filter { $0.1 <= bound }
            .min { $0.1 < $1.1 }?.0
    }

    /// The edit distance: letters changed, added, dropped or swapped with their neighbour.
    private static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.prefix(64)), b = Array(b.prefix(64))
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var cost = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforeLast[j - 1] + 1) }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
