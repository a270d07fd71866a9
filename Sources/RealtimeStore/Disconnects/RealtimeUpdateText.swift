import RealtimeModel
import StrictJSON

/// Edits the JSON of an update.
enum RealtimeUpdateText {
    /// Leaves out the members of a path and of all below it.
    ///
    /// - Parameter start: where the update's paths start.
    /// - Returns: nil if no members are left. A text that can't be read is returned as it is.
    static func removing(_ path: RealtimePath, from text: [UInt8], at start: RealtimePath) -> [UInt8]? {
        guard case .object(let object)? = try? JSONValue(parsing: text) else { return text }
        var rest = JSONObject()
        for (key, value) in object {
            let target = (try? RealtimeTarget(key)).map { RealtimeTarget(start).appending($0) }
            guard let target, path.contains(target.path) else {
                rest[key] = value
                continue
            }
        }
        guard !rest.isEmpty else { return nil }
        return (try? JSONValue.object(rest).serialized()) ?? text
    }
}
