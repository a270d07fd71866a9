package import StrictJSON

/// The reason why a value, a path or an update is refused.
package struct RealtimeError: Error, Hashable, Sendable {
    package var problem: Problem
    /// The node that the error is in, from the root of the database; of an invalid key, its parent.
    package var path: RealtimePath
    /// The offset in the JSON text; nil if the error isn't about one place in a text.
    package var offset: Int?

    package init(_ problem: Problem, at path: RealtimePath = .root, offset: Int? = nil) {
        self.problem = problem
        self.path = path
        self.offset = offset
    }

    init(_ error: JSONError, at path: RealtimePath) { self.init(.json(error.problem), at: path, offset: error.offset) }

    package enum Problem: Hashable, Sendable {
        /// The text isn't JSON.
        case json(JSONError.Problem)
        /// A path has a segment that isn't a key, or that isn't validly percent-encoded.
        case invalidPath(String)
        /// A key is empty, too long, or has a character that keys can't have.
        case invalidKey(String)
        /// A key begins with a dot, and isn't `.value`, `.priority` or `.sv`.
        case unknownDottedKey(String)
        case repeatedKey(String)
        case tooDeep
        case stringTooLong(Int)
        case tooManyNodes
        case updateTooLarge
        case valueBesideChildren
        /// A `.value` is an object or an array.
        case valueNotLeaf
        /// A priority is a boolean, an object or an array.
        case invalidPriority
        case unknownServerValue
        /// A `.sv` has siblings.
        case serverValueBesideOthers
        /// An increment isn't a number.
        case invalidIncrement
        /// An update isn't an object.
        case updateNotObject
        /// An update writes a path and one below it.
        case overlappingPaths(String, String)
        /// An update has an empty path.
        case emptyUpdatePath
    }
}

extension RealtimeError: CustomStringConvertible {
    /// A sentence without the place.
    package var message: String {
        switch problem {
        case .json(let problem): JSONError(problem).message
        case .invalidPath(let path): "\"\(path.excerpt)\" is not a path"
        case .invalidKey(let key):
            "\"\(key.excerpt)\" is not a key: keys have 1 to \(RealtimeLimits.maxKeyBytes) bytes, and no control "
                + "characters nor . $ # [ ] /"
        case .unknownDottedKey(let key):
            "\"\(key.excerpt)\" is not a key: only .value, .priority and .sv begin with a dot"
        case .repeatedKey(let key): "the key \"\(key.excerpt)\" is repeated"
        case .tooDeep: "the data are nested more than \(RealtimeLimits.maxDepth) deep, the limit"
        case .stringTooLong(let bytes):
            "a string has \(bytes) bytes, more than \(RealtimeLimits.maxStringBytes) (10 MiB), the limit"
        case .updateTooLarge:
            "the update has more than \(RealtimeLimits.maxUpdateNodes) nodes, the limit of one; write it in parts"
        case .tooManyNodes: "the data have more than \(RealtimeLimits.maxWriteNodes) nodes, the limit of a write"
        case .valueBesideChildren: "a .value has other keys than .priority beside it"
        case .valueNotLeaf: "a .value is not a string, a number or a boolean"
        case .invalidPriority: "a .priority is not a string or a number"
        case .unknownServerValue: "a .sv is neither \"timestamp\" nor an increment"
        case .serverValueBesideOthers: "a .sv has other keys beside it"
        case .invalidIncrement: "an increment is not a number"
        case .updateNotObject: "an update is not an object"
        case .overlappingPaths(let path, let other):
            "the update writes \"\(path.excerpt)\" and \"\(other.excerpt)\", one of which contains the other"
        case .emptyUpdatePath: "an update has a path without keys"
        }
    }

    package var description: String { "\(path): \(message)" }
}

extension RealtimeError {
    /// The text with which REST answers a write.
    ///
    /// - Parameters:
    ///   - body: the JSON text, to count the line and column of a key.
    ///   - isUpdate: whether the body is an update's.
    package func restMessage(body: some Collection<UInt8>, isUpdate: Bool = false) -> String {
        switch problem {
        case .json, .updateNotObject:
            return isUpdate
                ? "Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key names?"
                : "Invalid data; couldn't parse JSON object, array, or value."
        case .invalidKey, .unknownDottedKey:
            let position = JSONPosition(of: offset ?? 0, in: body)
            return "Invalid data; couldn't parse key beginning at \(position.line):\(position.column). "
                + "Key value can't be empty or contain $ # [ ] / or ."
        case .invalidPath: return "Invalid path: Invalid token in path"
        default: return "Invalid data; \(message) (at \(path))"
        }
    }
}
