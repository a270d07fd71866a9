import StorageEngine
import TestSupport
import Testing

@testable import RealtimeStore

/// Which tree has which paths, after ranges were replaced and moved, beside a simple list.
@Suite struct TreeLayoutTests {
    private static let end = 60

    private static func range(_ lower: Int, _ upper: Int?) -> KeyRange {
        KeyRange(lower: lower == 0 ? [] : [UInt8(lower)], upper: upper.map { [UInt8($0)] })
    }

    @Test func changedRangesLeaveTheOthers() async throws {
        await FuzzRounds.run("layouts", count: 200) { random, seed in
            var layout = TreeLayout(tree: 1)
            // The tree of each path.
            var trees = [UInt32](repeating: 1, count: Self.end)
            for step in 0..<40 {
                let lower = Int.random(in: 0..<Self.end, using: &random)
                let upper = Int.random(in: lower + 1...Self.end, using: &random)
                let range = Self.range(lower, upper == Self.end ? nil : upper)
                let isMoved = random.once(in: 2)
                let tree = isMoved ? UInt32.random(in: 1...5, using: &random) : UInt32(100 + step)
                if isMoved {
                    layout.assign(range, to: tree)
                } else {
                    let garbage = layout.garbage.count
                    layout.replace(range, with: tree)
                    let replaced = Self.trees(in: layout.garbage[garbage...])
                    #expect(replaced == Self.runs(trees, lower..<upper), "seed \(seed)")
                }
                for path in lower..<upper { trees[path] = tree }
                let found = (0..<Self.end).map { layout.tree(of: [UInt8($0), 7]) }
                #expect(found == trees, "seed \(seed)")
                let all = Self.trees(in: layout.parts(of: .all))
                #expect(all == Self.runs(trees, 0..<Self.end), "seed \(seed)")
                let part = Int.random(in: 0..<Self.end, using: &random)
                let whole = Self.range(part, random.once(in: 3) ? nil : min(part + 20, Self.end - 1))
                let backwards = Array(layout.parts(of: whole, reverse: true))
                #expect(backwards == Array(layout.parts(of: whole)).reversed(), "seed \(seed)")
            }
        }
    }

    /// The lengths and trees of what follows one another.
    private static func trees(in parts: some Sequence<TreeLayout.Extent>) -> [[Int]] {
        parts.map { part in
            let lower = Int(part.range.lower.first ?? 0)
            return [part.range.upper?.first.map { Int($0) } ?? end, lower, Int(part.tree)]
        }
    }

    private static func runs(_ trees: [UInt32], _ range: Range<Int>) -> [[Int]] {
        var runs: [[Int]] = []
        for path in range {
            if let last = runs.last, last[2] == Int(trees[path]) {
                runs[runs.count - 1][0] = path + 1
            } else {
                runs.append([path + 1, path, Int(trees[path])])
            }
        }
        return runs
    }
}
