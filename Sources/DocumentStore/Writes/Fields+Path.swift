import DocumentModel

extension [String: Value] {
    /// Puts a value at a path, makes maps on the way where there are none, or removes what is there.
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
        // The map is taken out first, so that changing it copies nothing.
        self[name] = .null
        inner.set(value, at: rest)
        self[name] = .map(inner)
    }
}
