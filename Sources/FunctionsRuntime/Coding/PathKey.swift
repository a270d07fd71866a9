/// A path component for which there is no key of the author's type.
enum PathKey: CodingKey {
    case name(String)
    case index(Int)

    init(stringValue: String) { self = .name(stringValue) }
    init(intValue: Int) { self = .index(intValue) }

    var stringValue: String {
        switch self {
        case .name(let name): name
        case .index(let index): String(index)
        }
    }

    var intValue: Int? {
        guard case .index(let index) = self else { return nil }
        return index
    }

    static let superKey = PathKey.name("super")
}

extension [any CodingKey] {
    /// The path as written in code: `data.items[3].quantity`.
    var joinedPath: String {
        reduce(into: "") { path, key in
            if case .index(let index)? = key as? PathKey {
                path += "[\(index)]"
            } else {
                path += path.isEmpty ? key.stringValue : "." + key.stringValue
            }
        }
    }
}

extension [PathKey] {
    var joinedPath: String { (self as [any CodingKey]).joinedPath }
}
