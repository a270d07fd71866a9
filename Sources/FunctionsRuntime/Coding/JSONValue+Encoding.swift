import DocumentModel
import StrictJSON
import TextFormats

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JSONValue {
    /// A type that JSON holds in a form of its own.
    static func native<T>(_ value: T) -> NativeEncoding {
        if T.self == JSONValue.self, let json = value as? JSONValue { return .json(json) }
        if T.self == JSONObject.self, let object = value as? JSONObject { return .json(.object(object)) }
        if T.self == Timestamp.self, let time = value as? Timestamp {
            return time.isInRange ? .json(.string(time.rfc3339)) : .failure("the time is not within years 1 to 9999")
        }
        if T.self == Date.self, let date = value as? Date {
            guard let time = Timestamp(exactly: date) else {
                return .failure("the time is not within years 1 to 9999")
            }
            return .json(.string(time.rfc3339))
        }
        if T.self == Data.self, let data = value as? Data { return .json(.string(Base64.encode(data))) }
        if T.self == URL.self, let url = value as? URL { return .json(.string(url.absoluteString)) }
        if T.self == Decimal.self, let number = value as? Decimal {
            return .json(Int64("\(number)").map { .integer($0) } ?? .double(number.nearestDouble))
        }
        return .foreign
    }
}
