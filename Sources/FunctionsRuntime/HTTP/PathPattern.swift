/// The path of a route: `items/{id}`, `files/{path=**}`.
struct PathPattern: Sendable {
    enum Segment: Equatable, Sendable {
        case literal(String)
        case parameter(String)
        /// Any number of segments.
        case rest(String)
    }

    let text: String
    let segments: [Segment]

    /// Of the parameters, in order.
    var names: [String] { segments.compactMap(\.name) }

    /// - Throws: ``Mistake``.
    init(_ text: String) throws(Mistake) {
        self.text = text
        var segments: [Segment] = []
        for part in text.split(separator: "/") {
            if case .rest(let name)? = segments.last { throw Mistake("{\(name)=**} must be its last segment") }
            let segment = try Segment(part)
            if let name = segment.name, segments.contains(where: { $0.name == name }) {
                throw Mistake("two of its parameters are called \(name)")
            }
            segments.append(segment)
        }
        self.segments = segments
    }

    struct Mistake: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }
}

extension PathPattern.Segment {
    fileprivate init(_ text: Substring) throws(PathPattern.Mistake) {
        guard text.contains(where: { $0 == "{" || $0 == "}" }) else {
            guard text.first != ":", !text.contains(where: { "?#%*".contains($0) }) else {
                throw .init(
                    "\"\(text)\" is neither text nor a parameter: {id} stands for one segment, {path=**} for any number"
                )
            }
            self = .literal(String(text))
            return
        }
        var name = text.dropFirst().dropLast()
        let isRest = name.hasSuffix("=**")
        if isRest { name = name.dropLast(3) }
        guard text.first == "{", text.last == "}", !name.isEmpty,
            name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
        else {
            throw .init("\"\(text)\" isn't a parameter; write {name} for a whole segment, or {name=**} at the end")
        }
        self = isRest ? .rest(String(name)) : .parameter(String(name))
    }

    fileprivate var name: String? {
        switch self {
        case .literal: nil
        case .parameter(let name), .rest(let name): name
        }
    }
}
