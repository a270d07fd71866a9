import RealtimeModel
import StrictJSON

/// Writes a node as JSON while its rows are read, in the order of a walk. The text is that of `JSONWriter.realtime`.
struct TreeJSONWriter {
    private struct Container {
        var isArray: Bool
        var priority: RealtimePriority?
        /// Whether nothing was written into it.
        var isEmpty = true
        /// In an array, the index of the next element.
        var next = 0
    }

    var writer = JSONWriter(capacity: 1024)
    private let form: RealtimeForm
    /// The objects around the last row: the node itself, and the keys of the others.
    private var containers: [Container] = []
    private var open: [RealtimeKey] = []
    /// Priorities of objects whose first row is still to come, by their depth.
    private var priorities: [Int: RealtimePriority] = [:]
    private var isEmpty = true

    init(_ form: RealtimeForm) { self.form = form }

    mutating func priority(_ priority: RealtimePriority, at path: RealtimePath) {
        if form.hasPriorities { priorities[path.depth] = priority }
    }

    /// - Parameter isArray: whether the object at a path is written as an array. Asked at most once for each object, and
    ///   only if its first child could be an array's element.
    mutating func leaf(
        _ leaf: RealtimeLeaf, priority: RealtimePriority?, at path: RealtimePath, isArray: (RealtimePath) throws -> Bool
    ) throws {
        isEmpty = false
        guard let key = path.keys.last else { return write(leaf, priority) }
        let parents = path.keys.dropLast()
        let shared = open.sharedCount(with: parents)
        while open.count > shared { close() }
        if containers.isEmpty { try begin(isArray, first: path.keys[0]) }
        for depth in shared..<parents.count {
            element(parents[depth])
            open.append(parents[depth])
            try begin(isArray, first: path.keys[depth + 1])
        }
        element(key)
        write(leaf, priority)
        priorities.removeAll(keepingCapacity: true)
    }

    mutating func finish() {
        if isEmpty { writer.null() }
        while !containers.isEmpty { close() }
    }

    /// Begins the innermost open object, or the node itself.
    private mutating func begin(_ isArray: (RealtimePath) throws -> Bool, first child: RealtimeKey) throws {
        // Looking at the last child costs a search in the store.
        let mayBeArray = form.hasArrays && child.arrayIndex != nil && priorities[open.count] == nil
        let isArray = mayBeArray ? try isArray(RealtimePath(unchecked: open)) : false
        containers.append(Container(isArray: isArray, priority: priorities[open.count]))
        writer.raw(isArray ? "[" : "{")
    }

    /// Writes what comes before a child.
    private mutating func element(_ key: RealtimeKey) {
        let last = containers.count - 1
        if !containers[last].isEmpty { writer.raw(",") }
        containers[last].isEmpty = false
        guard containers[last].isArray, let index = key.arrayIndex else { return writer.key(key.string) }
        while containers[last].next < index {
            writer.raw("null,")
            containers[last].next += 1
        }
        containers[last].next += 1
    }

    private mutating func close() {
        let container = containers.removeLast()
        if !open.isEmpty { open.removeLast() }
        guard !container.isArray else { return writer.raw("]") }
        if let priority = container.priority {
            writer.raw(",")
            writer.key(".priority")
            writer.realtime(priority.leaf)
        }
        writer.raw("}")
    }

    private mutating func write(_ leaf: RealtimeLeaf, _ priority: RealtimePriority?) {
        writer.realtime(RealtimeNode(leaf, priority: priority), as: form)
    }
}
