import DequeModule

/// A bounded queue that serves its callers round-robin.
///
/// A caller may hold as many places as remain free: a single caller gets half of the queue, two get a third each, and a
/// caller with none waiting is admitted until the last place is taken. A thousand calls of one caller therefore delay
/// another caller's call by one call.
package struct FairQueue<Key: Hashable, Element> {
    private let places: Int
    package private(set) var count = 0
    private var lanes: [Key?: Deque<Element>] = [:]
    /// The callers of the waiting elements, in the order of their turns.
    private var turns: Deque<Key?> = []

    package init(places: Int) { self.places = places }

    package var isEmpty: Bool { count == 0 }

    /// - Parameter key: the caller; nil if the caller bounds itself and may take all places.
    /// - Returns: whether the element was queued.
    package mutating func append(_ element: Element, of key: Key?) -> Bool {
        let held = lanes[key]?.count ?? 0
        let free = places - count
        guard free > 0, held == 0 || key == nil || held < free else { return false }
        if held == 0 { turns.append(key) }
        lanes[key, default: []].append(element)
        count += 1
        return true
    }

    /// The element that ``popFirst()`` would take.
    package var first: Element? { turns.first.flatMap { lanes[$0]?.first } }

    package mutating func popFirst() -> Element? {
        guard let key = turns.popFirst() else { return nil }
        return take(of: key)
    }

    /// Takes the next element whose caller may have a turn. Callers that may not keep their places.
    package mutating func popFirst(where mayHaveTurn: (Key?) -> Bool) -> (key: Key?, element: Element)? {
        guard let index = turns.firstIndex(where: mayHaveTurn) else { return nil }
        let key = turns.remove(at: index)
        return take(of: key).map { (key, $0) }
    }

    private mutating func take(of key: Key?) -> Element? {
        guard let element = lanes[key]?.popFirst() else { return nil }
        count -= 1
        if lanes[key]?.isEmpty == true { lanes[key] = nil } else { turns.append(key) }
        return element
    }

    /// - Returns: the waiting elements, in the order of the turns.
    package mutating func removeAll() -> [Element] {
        var all: [Element] = []
        all.reserveCapacity(count)
        while let element = popFirst() { all.append(element) }
        return all
    }
}

extension FairQueue: Equatable where Element: Equatable {
    /// - Returns: whether it was waiting.
    package mutating func remove(_ element: Element, of key: Key?) -> Bool {
        guard let index = lanes[key]?.firstIndex(of: element) else { return false }
        lanes[key]?.remove(at: index)
        count -= 1
        if lanes[key]?.isEmpty == true {
            lanes[key] = nil
            if let turn = turns.firstIndex(of: key) { turns.remove(at: turn) }
        }
        return true
    }
}

extension FairQueue: Sendable where Key: Sendable, Element: Sendable {}
