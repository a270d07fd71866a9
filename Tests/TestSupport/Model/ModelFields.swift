package import DocumentModel

/// Fields read and changed by their path.
package enum ModelFields {
    package static func value(_ fields: [String: Value], _ path: [String]) -> Value? {
        guard let name = path.first, let value = fields[name] else { return nil }
        if path.count == 1 { return value }
        guard case .map(let inner) = value else { return nil }
        return self.value(inner, Array(path.dropFirst()))
    }

    /// The fields with a value at a path, for which missing maps are created.
    package static func setting(
        _ fields: [String: Value], _ path: [String], to value: Value
    ) -> [String: Value] {
        var fields = fields
        guard path.count > 1 else {
            fields[path[0]] = value
            return fields
        }
        var inner: [String: Value] = [:]
        if case .map(let existing) = fields[path[0]] { inner = existing }
        fields[path[0]] = .map(setting(inner, Array(path.dropFirst()), to: value))
        return fields
    }

    package static func removing(_ fields: [String: Value], _ path: [String]) -> [String: Value] {
        var fields = fields
        if path.count == 1 {
            fields[path[0]] = nil
        } else if case .map(let inner) = fields[path[0]] {
            fields[path[0]] = .map(removing(inner, Array(path.dropFirst())))
        }
        return fields
    }
}
