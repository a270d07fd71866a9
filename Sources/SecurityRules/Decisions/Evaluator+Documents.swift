import DocumentModel

/// The documents that `get`, `exists` and the like have read for one request.
struct RulesReads {
    private let documents: RulesDocuments
    private var before: [DocumentPath: Document?] = [:]
    private var after: [DocumentPath: Document?] = [:]
    /// Those that count towards the limit. As on the official emulator, before and after are one.
    private var counted: Set<DocumentPath> = []
    /// Why the store couldn't read one.
    private(set) var failure: (any Error)?

    enum Problem: Error {
        case tooMany, failed
    }

    init(_ documents: RulesDocuments) { self.documents = documents }

    /// - Parameter isAskedFor: whether the request is for this document. As on the official emulator, it isn't counted.
    /// - Throws: ``Problem``; `failed` once ``failure`` is known.
    mutating func read(_ path: DocumentPath, isAfter: Bool, isAskedFor: Bool) throws(Problem) -> Document? {
        if let known = isAfter ? after[path] : before[path] { return known }
        if !counted.contains(path), !isAskedFor, !documents.isWritten(path) {
            guard counted.count < RulesLimits.documents else { throw .tooMany }
            counted.insert(path)
        }
        let document: Document?
        do {
            document = try isAfter ? documents.after(path) : documents.before(path)
        } catch {
            failure = error
            throw .failed
        }
        if isAfter { after[path] = .some(document) } else { before[path] = .some(document) }
        return document
    }
}

extension Evaluator {
    /// `get`, `exists` and the like.
    mutating func document(_ function: Builtins.Function, _ argument: RuleValue, _ place: Int) -> RuleValue {
        guard case .path(let segments) = argument else {
            return error("\(function.rawValue)(\(argument.type)) isn't possible; give it a path", place)
        }
        guard segments.count > 3, segments[0] == "databases", segments[1] == request.database,
            segments[2] == "documents", let path = try? DocumentPath(segments.dropFirst(3).joined(separator: "/")),
            path.segments.count == segments.count - 3
        else {
            let shown = segments.prefix(20).joined(separator: "/").prefix(200)
            return error("/\(shown) isn't a document's path; it begins with /databases/$(database)/documents", place)
        }
        let isAskedFor =
            request.method == .get && segments.dropFirst(3).elementsEqual(request.path) { TextBytes.equal($0, $1) }
        let document: Document?
        do {
            document = try reads.read(
                path, isAfter: function == .getAfter || function == .existsAfter, isAskedFor: isAskedFor)
        } catch {
            switch error {
            case .tooMany:
                return self.error(
                    "more than \(RulesLimits.documents) documents were read, the limit of one request", place)
            case .failed: return self.error("the document can't be read", place)
            }
        }
        if function == .exists || function == .existsAfter { return .bool(document != nil) }
        guard let document else { return error("there is no document \(path)", place) }
        return RulesRequest.resource(document, in: request.database)
    }
}
