import DocumentModel

extension [String: Value] {
    /// Sets the value at a path and creates missing maps on the way, or removes the value if it is nil.
    mutating func set(_ value: Value?, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        let rest = path.dropFirst()
        guard !rest.isEmpty else {
            self[name] = value
            return
        }
        var inner: [String: Value]
        if case .map(let fields) = self[name] {
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
