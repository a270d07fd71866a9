/// The objects in which client SDKs wrap 64-bit integers, and in which results return integers that JavaScript can't
/// represent.
package enum IntegerWrapper {
    static let int64 = "type.googleapis.com/google.protobuf.Int64Value"
    static let uint64 = "type.googleapis.com/google.protobuf.UInt64Value"

    /// The largest integer up to which doubles represent every integer: 2^53 − 1.
    package static let largestExact: Int64 = 9_007_199_254_740_991

    /// The integer in a wrapper; nil if the object isn't a wrapper.
    ///
    /// - Throws: If it is a wrapper without such an integer.
    static func unwrap(_ object: JSONObject) throws(JSONError) -> JSONValue? {
        guard case .string(let type)? = object["@type"] else { return nil }
        switch type {
        case int64:
            guard let value = object["value"]?.stringValue.flatMap({ Int64($0) }) else {
                throw JSONError(.invalidInt64Wrapper)
            }
            return .integer(value)
        case uint64:
            guard let value = object["value"]?.stringValue.flatMap({ UInt64($0) }) else {
                throw JSONError(.invalidUInt64Wrapper)
            }
            return Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
        default: return nil
        }
    }
}

/// Which integers beyond ±(2^53 − 1) are written as wrappers.
package enum IntegerWrapping: Sendable {
    case none
    /// Those that an `Int64` holds.
    case signed
    case all
}
