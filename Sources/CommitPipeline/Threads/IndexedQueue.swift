/// A queue whose elements keep their positions: the first element's position is the number of elements removed so far.
public struct IndexedQueue<Element: Sendable>: Sendable {
    @usableFromInline var slots: [Element?]
    @usableFromInline var head: Int
    @usableFromInline var left: Int

    @inlinable
    public init() {
        slots = []
        head = 0
        left = 0
    }

    @inlinable public var isEmpty: Bool { head == slots.count }
    @inlinable public var count: Int { slots.count - head }
    /// Positions of all elements in the queue.
    @inlinable public var positions: Range<Int> { left..<left + count }

    @inlinable public var first: Element? { head < slots.count ? slots[head] : nil }
    @inlinable public var last: Element? { head < slots.count ? slots[slots.count - 1] : nil }

    /// Nil if the element at the position has been removed or doesn't exist yet.
    @inlinable public subscript(_ position: Int) -> Element? {
        let slot = position - left + head
        return slots.indices.contains(slot) && slot >= head ? slots[slot] : nil
    }

    @inlinable public mutating func append(_ element: Element) { slots.append(element) }

    @inlinable public mutating func popFirst() -> Element? {
        guard head < slots.count else { return nil }
        // The element leaves now, and its slot later.
        let element = slots[head].take()
        head += 1
        left += 1
        if head > 64, head > slots.count / 2 {
            slots.removeFirst(head)
            head = 0
        }
        return element
    }

    @inlinable public mutating func popLast() -> Element? {
        guard head < slots.count else { return nil }
        return slots.removeLast()
    }

    /// The first position whose element satisfies a predicate that all later elements satisfy too.
    @inlinable public func firstPosition(where holds: (Element) -> Bool) -> Int {
        var (low, high) = (positions.lowerBound, positions.upperBound)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].map(holds) ?? false { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
