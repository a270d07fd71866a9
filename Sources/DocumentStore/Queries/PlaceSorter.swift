import DocumentModel

/// Sorts places in memory, and keeps only those that can be in the result.
struct PlaceSorter {
    private let query: NormalizedQuery
    private let needed: Int
    /// Above this weight, documents are released, and read again when they are needed.
    private let maxBytes: Int
    /// How many bytes may be held without the documents.
    private let maxKeyBytes: Int
    /// The remaining budget of the result, if everything that is added is part of it.
    private var budget: ReadBudget?
    private var places: [QueryPlace] = []
    private var bytes = 0
    /// The number of bytes at which places that can't be in the result are removed.
    private var pruneAt: Int
    private var isLight = false

    init(_ context: QueryContext) {
        query = context.query
        needed = context.needed
        maxBytes = context.maxBytes
        maxKeyBytes = context.maxKeyBytes
        pruneAt = maxBytes
        budget = context.budget
    }

    /// - Throws: `resourceExhausted` if the result exceeds a limit.
    mutating func add(_ place: QueryPlace) throws(DocumentError) {
        try budget?.take(place.weight)
        places.append(place)
        if isLight { places[places.count - 1].document.fields = [:] }
        bytes += isLight ? place.keyBytes : place.weight
        if needed < places.count, places.count > needed &* 4 &+ 1000 || bytes > pruneAt { prune() }
        // Not only at the limit itself, where the next place would prune again.
        if !isLight, bytes > maxBytes / 2, needed == places.count || bytes > maxBytes { lighten() }
        guard !isLight || bytes <= maxKeyBytes || needed < places.count else {
            throw DocumentError(
                .resourceExhausted,
                "a sort may hold \(maxKeyBytes / 1_048_576) MiB of names and values, the limit; "
                    + "give the query an index that has its order, or a smaller limit and offset")
        }
    }

    /// The places in order. The sorter is empty afterwards.
    mutating func take() -> SortedPlaces {
        places.sort { query.compare($0, $1) == .descending }
        if places.count > needed { places.removeFirst(places.count - needed) }
        defer { (places, bytes, pruneAt, isLight) = ([], 0, maxBytes, false) }
        return SortedPlaces(reversed: places, isLight: isLight)
    }

    private mutating func prune() {
        let query = query
        places.sort { query.compare($0, $1) == .ascending }
        for place in places[needed...] { bytes -= isLight ? place.keyBytes : place.weight }
        places.removeLast(places.count - needed)
        // Twice as much as is needed, so that pruning is rare.
        pruneAt = max(maxBytes, 2 * bytes)
    }

    private mutating func lighten() {
        isLight = true
        bytes = 0
        for index in places.indices {
            places[index].document.fields = [:]
            bytes += places[index].keyBytes
        }
    }
}

extension QueryPlace {
    /// The memory that remains when the document's fields are released.
    fileprivate var keyBytes: Int { values.reduce(document.path.string.utf8.count) { $0 + $1.weight } }
}

/// Sorted places, returned one by one.
struct SortedPlaces {
    /// The first place is at the end.
    var reversed: [QueryPlace] = []
    /// Whether documents lack their fields, because these were too large to hold.
    var isLight = false

    mutating func next(in view: DocumentView) throws -> QueryPlace? {
        guard var place = reversed.popLast() else { return nil }
        if isLight, let document = try view.document(place.document.path) { place.document = document }
        return place
    }
}
