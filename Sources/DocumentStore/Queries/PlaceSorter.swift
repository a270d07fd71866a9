import DocumentModel

/// Sorts places in memory, and keeps no more than can be in the result.
struct PlaceSorter {
    private let query: NormalizedQuery
    private let needed: Int
    /// Beyond so many stored bytes documents are let go and read again when they are wanted.
    private let maxBytes: Int
    /// What the result may still have, where all that is added is in it.
    private var budget: ReadBudget?
    private var places: [QueryPlace] = []
    private var bytes = 0
    private var isLight = false

    init(_ context: QueryContext) {
        query = context.query
        needed = context.needed
        maxBytes = context.maxBytes
        budget = context.budget
    }

    /// - Throws: `resourceExhausted` where the result can't be answered any more.
    mutating func add(_ place: QueryPlace) throws(DocumentError) {
        try budget?.take(place.storedBytes)
        places.append(place)
        if isLight {
            places[places.count - 1].document.fields = [:]
        } else {
            bytes += place.storedBytes
        }
        if needed < places.count, places.count > needed &* 4 &+ 1000 || bytes > maxBytes { prune() }
        // Not at the very bound, where the next one would prune again.
        if bytes > maxBytes / 2, needed == places.count || bytes > maxBytes { lighten() }
    }

    /// The places in order. The sorter is empty then.
    mutating func take() -> SortedPlaces {
        places.sort { query.compare($0, $1) == .descending }
        if places.count > needed { places.removeFirst(places.count - needed) }
        defer { (places, bytes, isLight) = ([], 0, false) }
        return SortedPlaces(reversed: places, isLight: isLight)
    }

    private mutating func prune() {
        let query = query
        places.sort { query.compare($0, $1) == .ascending }
        if !isLight { for place in places[needed...] { bytes -= place.storedBytes } }
        places.removeLast(places.count - needed)
    }

    private mutating func lighten() {
        isLight = true
        bytes = 0
        for index in places.indices { places[index].document.fields = [:] }
    }
}

/// Places in order, handed out one by one.
struct SortedPlaces {
    /// The first is at the end.
    var reversed: [QueryPlace] = []
    /// Whether documents lack their fields, which were too many to hold.
    var isLight = false

    mutating func next(in view: DocumentView) throws -> QueryPlace? {
        guard var place = reversed.popLast() else { return nil }
        if isLight, let document = try view.document(place.document.path) { place.document = document }
        return place
    }
}
