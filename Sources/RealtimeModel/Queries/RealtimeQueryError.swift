/// The reason why a query is refused.
package enum RealtimeQueryError: Error, Hashable, Sendable {
    /// There are parameters of a query but no `orderBy`.
    case orderByMissing
    /// The index isn't a path, or isn't JSON.
    case invalidOrderBy
    /// A bound isn't a JSON primitive, with a key in quotes after it if there is one.
    case invalidBound
    /// A bound of keys isn't a string.
    case boundNotKey
    /// A limit isn't an integer above 0.
    case invalidLimit
    /// Both the first and the last children are asked for.
    case severalLimits
    /// There are two starts or two ends.
    case severalBounds
    /// The query isn't an object.
    case notAnObject
    /// The rules name no index for a child path (`.indexOn`).
    case indexNotDefined(index: String, path: RealtimePath)
}

extension RealtimeQueryError: CustomStringConvertible {
    /// The text that REST answers with.
    package var description: String {
        switch self {
        case .orderByMissing: "orderBy must be defined when other query parameters are defined"
        case .invalidOrderBy: "orderBy must be a valid JSON encoded path"
        case .invalidBound: "Constraint index field must be a JSON primitive"
        case .boundNotKey: "Constraint key field must be a string"
        case .invalidLimit: "limit must be a positive integer"
        case .severalLimits: "only one of limitToFirst and limitToLast may be specified"
        case .severalBounds:
            "only one of equalTo, startAt and startAfter, and of equalTo, endAt and endBefore, may be specified"
        case .notAnObject: "query must be a JSON object"
        case .indexNotDefined(let index, let path):
            "Index not defined, add \".indexOn\": \"\(index)\", for path \"\(path)\", to the rules"
        }
    }
}
