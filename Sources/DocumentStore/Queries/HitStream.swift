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

    private let isKeyEnough: Bool

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
            guard try next() != nil else { return false }
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
    private func common() throws -> IndexHit? {
        guard var found = try row(0) else { return nil }
        var place = route.place(found.key, 0)
        var agreed = 1
        var index = 1
        while agreed < cursors.count {
            let ahead = route.keyRange(KeyRange(lower: place, upper: nil), index)
            cursors[index].leap(to: route.isReversed[index] ? ahead.upper ?? [] : ahead.lower)
            guard let row = try row(index) else { return nil }
            if index == 0 { found = row }
            let next = route.place(row.key, index)
            agreed = next == place ? agreed + 1 : 1
            place = next
            index = (index + 1) % cursors.count
        }
        return try hit(found)
    }
}
