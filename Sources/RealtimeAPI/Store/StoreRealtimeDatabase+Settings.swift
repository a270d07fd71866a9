import RealtimeModel
import RealtimeStore
import StrictJSON
import Synchronization

/// What an admin may set of a database, by `/.settings/NAME.json`.
extension StoreRealtimeDatabase {
    struct Settings: Sendable {
        var writeSizeLimit = WriteSizeLimit.large
    }

    /// The names that settings have, also in the store.
    static let writeSizeLimitSetting = "defaultWriteSizeLimit"

    /// For writes that say nothing themselves.
    var sizeLimit: WriteSizeLimit { settings.withLock { $0.writeSizeLimit } }

    func setting(_ name: String) -> [UInt8]? {
        name == Self.writeSizeLimitSetting ? Array("\"\(sizeLimit.rawValue)\"".utf8) : nil
    }

    func setSetting(
        _ name: String, _ json: [UInt8],
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {
        guard name == Self.writeSizeLimitSetting else { return completion(.failure(.unknownRequest(name))) }
        guard let limit = WriteSizeLimit(json) else {
            return completion(.failure(.invalidSetting("\(name) must be \(WriteSizeLimit.names), in quotes")))
        }
        store.set(name, to: json, in: self.name) { [self] result in
            if case .success = result { settings.withLock { $0.writeSizeLimit = limit } }
            completion(result.mapError { RealtimeServiceError($0, of: self.name) })
        }
    }

    /// Takes over what was set before the host's start.
    func restore(writeSizeLimit json: [UInt8]) {
        guard let limit = WriteSizeLimit(json) else { return }
        settings.withLock { $0.writeSizeLimit = limit }
    }
}

extension WriteSizeLimit {
    /// - Parameter json: its name in quotes.
    fileprivate init?(_ json: [UInt8]) {
        guard case .string(let name)? = try? JSONValue(parsing: json) else { return nil }
        self.init(rawValue: name)
    }

    /// What one commit writes in that time, about.
    fileprivate static let rowsPerSecond = 100_000

    var rows: Int? { seconds.map { $0 * Self.rowsPerSecond } }

    /// What is staged in that time, about: no other rows are looked at.
    var stagedRows: Int? { rows.map { 5 * $0 } }
}
