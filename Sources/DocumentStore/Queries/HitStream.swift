import StorageEngine
import DocumentModel

/// What a run of queries has read so far.
final class QueryMeter {
    var entries = 0
    var documents = 0
    /// What was decided on the way, in words.
    var decisions: [String] = []
}

/// The keys of a route, in the order of their places: of several accesses those that all have.
final class HitStream {
    let route: QueryRoute
    private let meter: QueryMeter
    private let cursors: [RangeCursor]
    private var ahead: IndexHit?
    /// How many were found.
    private(set) var count = 0
    private var entries = 0
    /// Where a search for what is common stands that was broken off.
    private var search: Search?
    private var maxCost = Int.max

    private let isKeyEnough: Bool

    private struct Search {
        var found: RangeCursor.Row
        var place: [UInt8]
        var agreed = 1
        var index = 1
    }

    /// - Parameters:
    ///   - expecting: how many hits are expected to be needed.
    ///   - isKeyEnough: whether hits are only counted.
    init(
        _ route: QueryRoute, _ storage: any StorageReader, _ meter: QueryMeter, expecting: Int,
        isKeyEnough: Bool = false
    ) {
        self.isKeyEnough = isKeyEnough
        self.route = route
        self.meter = meter
        cursors = route.accesses.indices.map { index in
            RangeCursor(
                storage, route.accesses[index].table, route.keyRanges(index), reverse: route.isReversed[index],
                firstPage: route.accesses.count == 1 ? expecting : 8, isKeyEnough: isKeyEnough)
        }
    }

    func next() throws -> IndexHit? {
        if let hit = ahead {
            ahead = nil
            return hit
        }
        guard let hit = cursors.count == 1 ? try first() : try common() else { return nil }
        count += 1
        return hit
    }

    /// The next without passing over it.
    func peek() throws -> IndexHit? {
        if ahead == nil { ahead = try next() }
        return ahead
    }

    /// What was read so far, in keys of one access: a leap costs about as much as four keys in a row.
    var cost: Int { cursors.count == 1 ? entries : 4 * entries }

    /// Goes on until reading has cost so much.
    ///
    /// - Returns: false where there are no more.
    func advance(to total: Int) throws -> Bool {
        while cost < total {
            // Much may be read between two that are found.
            maxCost = total
            defer { maxCost = .max }
            guard try next() != nil || search != nil else { return false }
        }
        return true
    }

    private func first() throws -> IndexHit? { try row(0).map { try hit($0) } }

    private func hit(_ row: RangeCursor.Row) throws(DecodingFailure) -> IndexHit {
        isKeyEnough
            ? IndexHit(key: row.key, route.accesses[0])
            : try IndexHit(key: row.key, row: row.value, route.accesses[0])
    }

    private func row(_ index: Int) throws -> RangeCursor.Row? {
        guard let row = try cursors[index].row() else { return nil }
        meter.entries += 1
        entries += 1
        return row
    }

    /// Each cursor in turn leaps to the place that the others have come to, until all are at one.
    ///
    /// - Returns: nil where there are no more, or where that has cost too much so far: `search` is where to go on then.
    private func common() throws -> IndexHit? {
        var search: Search
        if let stopped = self.search {
            search = stopped
            self.search = nil
        } else {
            guard let found = try row(0) else { return nil }
            search = Search(found: found, place: route.place(found.key, 0))
        }
        while search.agreed < cursors.count {
            guard cost < maxCost else {
                self.search = search
                return nil
            }
            let index = search.index
            let ahead = route.keyRange(KeyRange(lower: search.place, upper: nil), index)
            cursors[index].leap(to: route.isReversed[index] ? ahead.upper ?? [] : ahead.lower)
            guard let row = try row(index) else { return nil }
            if index == 0 { search.found = row }
            let next = route.place(row.key, index)
            search.agreed = next == search.place ? search.agreed + 1 : 1
            search.place = next
            search.index = (index + 1) % cursors.count
        }
        return try hit(search.found)
    }
}
