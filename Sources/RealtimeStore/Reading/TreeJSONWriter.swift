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

    /// - Parameter isArray: whether the object at a path is written as an array. Asked once for each object.
    mutating func leaf(
        _ leaf: RealtimeLeaf, priority: RealtimePriority?, at path: RealtimePath, isArray: (RealtimePath) throws -> Bool
    ) throws {
        isEmpty = false
        guard let key = path.keys.last else { return write(leaf, priority) }
        let parents = path.keys.dropLast()
        let shared = zip(open, parents).prefix { $0 == $1 }.count
        while open.count > shared { close() }
        if containers.isEmpty { try begin(.root, isArray) }
        for parent in parents.dropFirst(shared) {
            element(parent)
            open.append(parent)
            try begin(RealtimePath(unchecked: open), isArray)
        }
        element(key)
        write(leaf, priority)
        priorities.removeAll(keepingCapacity: true)
    }

    mutating func finish() {
        if isEmpty { writer.null() }
        while !containers.isEmpty { close() }
    }

    private mutating func begin(_ path: RealtimePath, _ isArray: (RealtimePath) throws -> Bool) throws {
        let isArray = form.hasArrays ? try isArray(path) : false
        containers.append(Container(isArray: isArray, priority: priorities[path.depth]))
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
