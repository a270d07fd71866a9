/// A path component for which there is no key of the author's type.
@usableFromInline
package enum PathKey: CodingKey, Hashable, Sendable {
    case name(String)
    case index(Int)

    @usableFromInline
    package init(stringValue: String) { self = .name(stringValue) }
    @usableFromInline
    package init(intValue: Int) { self = .index(intValue) }

    @usableFromInline
    package var stringValue: String {
        switch self {
        case .name(let name): name
        case .index(let index): String(index)
        }
    }

    @usableFromInline
    package var intValue: Int? {
        guard case .index(let index) = self else { return nil }
        return index
    }

    package static let superKey = PathKey.name("super")
}

extension String {
    /// The text for a message: cut if it is long, since it may be a caller's own and as long as a body.
    package var excerpt: String {
        let limit = 100
        guard utf8.count > limit else { return self }
        // If the cut splits a character, decoding replaces its bytes with U+FFFD.
        return String(decoding: utf8.prefix(limit), as: UTF8.self) + "…"
    }
}

extension [any CodingKey] {
    /// The path as written in code: `data.items[3].quantity`. Long keys are cut.
    package var joinedPath: String {
        reduce(into: "") { path, key in
            if case .index(let index)? = key as? PathKey {
                path += "[\(index)]"
            } else {
                path += (path.isEmpty ? "" : ".") + key.stringValue.excerpt
            }
        }
    }
}

extension [PathKey] {
    package var joinedPath: String { (self as [any CodingKey]).joinedPath }
}
