import CFunctionsSystem
package import StrictJSON

extension JSONWriter {
    /// Appends a node; nil is written as `null`.
    package mutating func realtime(_ node: RealtimeNode?, as form: RealtimeForm) {
        guard let node else { return null() }
        functions_step()
        switch node.storage {
        case .leaf(let leaf): realtime(leaf)
        case .prioritizedLeaf(let leaf):
            guard form.hasPriorities else { return realtime(leaf.leaf) }
            raw("{\".value\":")
            realtime(leaf.leaf)
            raw(",\".priority\":")
            realtime(leaf.priority.leaf)
            raw("}")
        case .object(let object):
            // An array has no place for a priority.
            if form.hasArrays, !form.hasPriorities || object.priority == nil, object.children.isArray {
                realtimeArray(object.children, as: form)
            } else {
                realtimeObject(object, as: form)
            }
        }
    }

    /// Appends a leaf, or a query's bound. A whole number has no fraction.
    package mutating func realtime(_ leaf: RealtimeLeaf) {
        switch leaf {
        case .boolean(let value): boolean(value)
        case .number(let number):
            if let integer = number.integer { self.integer(integer) } else { double(number.double) }
        case .string(let value): string(value)
        }
    }

    private mutating func realtimeObject(_ object: RealtimeNode.Object, as form: RealtimeForm) {
        raw("{")
        list(object.children) { writer, child in
            writer.key(child.key.string)
            writer.realtime(child.node, as: form)
        }
        if form.hasPriorities, let priority = object.priority {
            raw(",")
            key(".priority")
            realtime(priority.leaf)
        }
        raw("}")
    }

    private mutating func realtimeArray(_ children: RealtimeChildren, as form: RealtimeForm) {
        raw("[")
        var next = 0
        for child in children {
            if next > 0 { raw(",") }
            let index = child.key.arrayIndex ?? next
            while next < index {
                raw("null,")
                next += 1
            }
            realtime(child.node, as: form)
            next += 1
        }
        raw("]")
    }
}

extension RealtimeChildren {
    /// Whether clients take the object for an array: all keys are canonical integers of 0 or more, and the largest is less
    /// than twice their number.
    package var isArray: Bool {
        // Integers sort by number: the last key, if it is one, is the largest.
        guard let largest = last?.key.arrayIndex, largest < 2 * count else { return false }
        return allSatisfy { $0.key.arrayIndex != nil }
    }
}

extension RealtimeNode {
    /// The node as JSON.
    package func json(as form: RealtimeForm) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.realtime(self, as: form)
        return writer.bytes
    }
}
