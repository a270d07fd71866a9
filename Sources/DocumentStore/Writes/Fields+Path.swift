import DocumentModel

/// A vector is one value: nothing is in it, and what is set below its name replaces it.
extension [String: Value] {
    /// The value at a path through maps; nil if there is none.
    func value(at path: ArraySlice<String>) -> Value? {
        guard let name = path.first, let value = member(name) else { return nil }
        let rest = path.dropFirst()
        guard !rest.isEmpty else { return value }
        guard case .map(let inner) = value, value.vectorElements == nil else { return nil }
        return inner.value(at: rest)
    }

    /// Sets the value at a path and creates missing maps on the way, or removes the value if it is nil.
    mutating func set(_ value: Value?, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        let rest = path.dropFirst()
        guard !rest.isEmpty else {
            self[name] = value
            return
        }
        var inner: [String: Value]
        if let outer = self[name], case .map(let fields) = outer, outer.vectorElements == nil {
            inner = fields
        } else if value == nil {
            return
        } else {
            inner = [:]
        }
        // The map is taken out of the dictionary first, so that changing it copies nothing.
        self[name] = .null
        inner.set(value, at: rest)
        self[name] = .map(inner)
    }
}
