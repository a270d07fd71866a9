import Synchronization

/// A list to which several tasks add.
final class SharedList<Element: Sendable>: Sendable {
    private let list = Mutex<[Element]>([])

    init() {}

    func append(_ element: Element) { list.withLock { $0.append(element) } }

    var all: [Element] { list.withLock { $0 } }
}
