import StorageEngine
import DocumentModel

/// The keys of a route, in the order of their places; with several accesses, the keys that all of them have.
final class HitStream {
    let route: QueryRoute
    private let meter: QueryMeter
    private let cursors: [RangeCursor]
    private var ahead: IndexHit?
    /// The number of keys found.
    private(set) var count = 0
    private var entries = 0
    /// The state of an interrupted search for a common place.
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
    ///   - expecting: the number of hits that are likely to be needed.
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

    /// The next hit, without advancing.
    func peek() throws -> IndexHit? {
        if ahead == nil { ahead = try next() }
        return ahead
    }

    /// The cost of reading so far, in keys of one access: a leap costs about as much as four consecutive keys.
    var cost: Int { cursors.count == 1 ? entries : 4 * entries }

    /// Advances until reading has cost a total.
    ///
    /// - Returns: false if there are no more hits.
    func advance(to total: Int) throws -> Bool {
        while cost < total {
            // The search may read many keys between two hits.
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
        try meter.readEntries()
        entries += 1
        return row
    }

    /// Each cursor in turn leaps to the place that the others have reached, until all are at the same place.
    ///
    /// - Returns: nil if there are no more hits, or if the cost limit was reached: `search` then holds where to
    ///   continue.
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
