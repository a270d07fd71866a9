public import DequeModule

/// A bounded queue that serves its callers round-robin.
///
/// A caller may hold as many places as remain free: a single caller gets half of the queue, two get a third each, and a
/// caller with none waiting is admitted until the last place is taken. A thousand calls of one caller therefore delay
/// another caller's call by one call.
public struct FairQueue<Key: Hashable, Element> {
    /// The waiting elements of one caller.
    @usableFromInline
    struct Lane {
        @usableFromInline var key: Key?
        @usableFromInline var elements: Deque<Element>
        /// Whether it has had so many elements that their memory isn't worth keeping.
        @usableFromInline var wasLong: Bool

        @inlinable
        init(key: Key?) {
            self.key = key
            elements = []
            wasLong = false
        }

        @inlinable
        mutating func append(_ element: Element) {
            elements.append(element)
            wasLong = wasLong || elements.count > 16
        }
    }

    @usableFromInline let places: Int
    @usableFromInline var total: Int
    /// Lanes keep their place and their memory when their caller has nothing more waiting; another takes them over.
    @usableFromInline var lanes: [Lane]
    @usableFromInline var freeLanes: [Int]
    @usableFromInline var laneOfKey: [Key?: Int]
    /// The lanes with waiting elements, in the order of their turns.
    @usableFromInline var turns: Deque<Int>

    @inlinable
    public init(places: Int) {
        self.places = places
        total = 0
        lanes = []
        freeLanes = []
        laneOfKey = [:]
        turns = []
    }

    @inlinable public var count: Int { total }

    @inlinable public var isEmpty: Bool { total == 0 }

    /// How many callers have elements waiting.
    public var callers: Int { laneOfKey.count }

    /// - Parameter key: the caller; nil if the caller bounds itself and may take all places.
    /// - Returns: whether the element was queued.
    @inlinable
    public mutating func append(_ element: Element, of key: Key?) -> Bool {
        let free = places - total
        guard free > 0 else { return false }
        if let lane = laneOfKey[key] {
            guard key == nil || lanes[lane].elements.count < free else { return false }
            lanes[lane].append(element)
        } else {
            let lane = newLane(key)
            laneOfKey[key] = lane
            turns.append(lane)
            lanes[lane].append(element)
        }
        total += 1
        return true
    }

    @inlinable
    mutating func newLane(_ key: Key?) -> Int {
        guard let lane = freeLanes.popLast() else {
            lanes.append(Lane(key: key))
            return lanes.count - 1
        }
        lanes[lane].key = key
        return lane
    }

    /// The element that ``popFirst()`` would take.
    @inlinable public var first: Element? { turns.first.flatMap { lanes[$0].elements.first } }

    /// Whether a caller that may have a turn has elements.
    @inlinable
    public func contains(where mayHaveTurn: (Key?) -> Bool) -> Bool {
        turns.contains { mayHaveTurn(lanes[$0].key) }
    }

    @inlinable public mutating func popFirst() -> Element? { turns.popFirst().flatMap { take(of: $0) } }

    /// Takes the next element whose caller may have a turn. Callers that may not keep their places.
    @inlinable
    public mutating func popFirst(where mayHaveTurn: (Key?) -> Bool) -> (key: Key?, element: Element)? {
        guard let index = turns.firstIndex(where: { mayHaveTurn(lanes[$0].key) }) else { return nil }
        let lane = turns.remove(at: index)
        let key = lanes[lane].key
        return take(of: lane).map { (key, $0) }
    }

    @inlinable
    mutating func take(of lane: Int) -> Element? {
        guard let element = lanes[lane].elements.popFirst() else { return nil }
        total -= 1
        if lanes[lane].elements.isEmpty { free(lane) } else { turns.append(lane) }
        return element
    }

    @inlinable
    mutating func free(_ lane: Int) {
        laneOfKey[lanes[lane].key] = nil
        lanes[lane].key = nil
        if lanes[lane].wasLong { lanes[lane] = Lane(key: nil) }
        freeLanes.append(lane)
        // Those of a burst aren't kept.
        if total == 0, lanes.count > 64 { (lanes, freeLanes) = ([], []) }
    }

    /// - Returns: the waiting elements, in the order of the turns.
    public mutating func removeAll() -> [Element] {
        var all: [Element] = []
        all.reserveCapacity(total)
        while let element = popFirst() { all.append(element) }
        return all
    }
}

extension FairQueue: Equatable where Element: Equatable {
    /// Whether the same elements wait, in the same order.
    public static func == (one: Self, other: Self) -> Bool {
        one.places == other.places
            && one.turns.elementsEqual(other.turns) { lane, otherLane in
                one.lanes[lane].key == other.lanes[otherLane].key
                    && one.lanes[lane].elements == other.lanes[otherLane].elements
            }
    }

    /// - Returns: whether it was waiting.
    public mutating func remove(_ element: Element, of key: Key?) -> Bool {
        guard let lane = laneOfKey[key], let index = lanes[lane].elements.firstIndex(of: element) else { return false }
        lanes[lane].elements.remove(at: index)
        total -= 1
        if lanes[lane].elements.isEmpty {
            if let turn = turns.firstIndex(of: lane) { turns.remove(at: turn) }
            free(lane)
        }
        return true
    }
}

extension FairQueue.Lane: Sendable where Key: Sendable, Element: Sendable {}
extension FairQueue: Sendable where Key: Sendable, Element: Sendable {}
