import DocumentModel
import RealtimeModel
import StrictJSON

/// Reads what the events of a stream set.
struct DatabaseEventReader: Sendable {
    /// What is observed.
    let path: RealtimePath
    /// What to keep of a value that replaces all; nil if the service finds exactly that.
    let query: RealtimeQuery?

    /// - Parameters:
    ///   - data: `{"path":"/a","data":V}`.
    ///   - isPatch: whether the data are an object whose keys are paths, which are all set.
    func settings(
        _ data: [UInt8], isPatch: Bool
    ) throws(DocumentError) -> [ReferenceChange.Setting] {
        let result = data.withUnsafeBytes { bytes in
            Result { () throws(RealtimeError) in try settings(bytes, isPatch: isPatch) }
        }
        do throws(RealtimeError) { return try result.get() } catch { throw .unreadable("\(error)") }
    }

    private func settings(
        _ bytes: UnsafeRawBufferPointer, isPatch: Bool
    ) throws(RealtimeError) -> [ReferenceChange.Setting] {
        let (text, range) = try members(bytes)
        let place = RealtimeTarget(path).appending(try RealtimeTarget(text))
        let value = UnsafeRawBufferPointer(rebasing: bytes[range])
        if isPatch {
            return try RealtimeUpdate(parsing: value, at: place.path).entries.map { entry in
                setting(entry.target, entry.value)
            }
        }
        return [setting(place, try RealtimeWriteValue(parsing: value, at: place))]
    }

    private func setting(_ target: RealtimeTarget, _ value: RealtimeWriteValue) -> ReferenceChange.Setting {
        let relative = target.relative(to: path) ?? target
        var node = value.resolved(now: 0, existing: nil)
        if let query, relative == RealtimeTarget(.root) { node = node?.matching(query) }
        return ReferenceChange.Setting(relative.string, node?.json(as: .export))
    }

    /// The event's path, and the place of its data.
    private func members(
        _ bytes: UnsafeRawBufferPointer
    ) throws(RealtimeError) -> (path: String, data: Range<Int>) {
        var scanner = JSONScanner(bytes)
        var (text, data): (String?, Range<Int>?)
        do throws(JSONError) {
            scanner.skipSpace()
            var hasMore = scanner.take(UInt8(ascii: "{"))
            while hasMore {
                scanner.skipSpace()
                guard scanner.peek() == UInt8(ascii: "\"") else { break }
                let name = try scanner.string()
                scanner.skipSpace()
                guard scanner.take(UInt8(ascii: ":")) else { break }
                scanner.skipSpace()
                let start = scanner.position
                if name == "path", scanner.peek() == UInt8(ascii: "\"") {
                    text = try scanner.string()
                } else {
                    try scanner.skipValue()
                }
                if name == "data" { data = start..<scanner.position }
                scanner.skipSpace()
                hasMore = scanner.take(UInt8(ascii: ","))
            }
        } catch {
            throw RealtimeError(.json(error.problem), at: path, offset: error.offset)
        }
        guard scanner.take(UInt8(ascii: "}")), let text, let data else {
            throw RealtimeError(.updateNotObject, at: path)
        }
        return (text, data)
    }
}
