import RealtimeModel
import RealtimeStore
import StrictJSON
import Synchronization

/// What an admin may set of a database, by `/.settings/NAME.json`. The names are those of the store's settings too.
enum RealtimeSetting: String, CaseIterable {
    /// The limit of writes that say nothing themselves.
    case defaultWriteSizeLimit
    /// Whether writes are refused whose events would be more, or larger, than Firebase's limits.
    case strictTriggerValidation
}

extension StoreRealtimeDatabase {
    struct Settings: Sendable {
        var writeSizeLimit = WriteSizeLimit.large
        var validatesTriggersStrictly = true

        var triggerLimits: TriggerLimits { validatesTriggersStrictly ? .strict : .lifted }

        func json(_ setting: RealtimeSetting) -> [UInt8] {
            switch setting {
            case .defaultWriteSizeLimit: Array("\"\(writeSizeLimit.rawValue)\"".utf8)
            case .strictTriggerValidation: Array("\(validatesTriggersStrictly)".utf8)
            }
        }

        /// - Returns: what the value must be, if it can't be this one.
        mutating func set(_ setting: RealtimeSetting, to json: [UInt8]) -> String? {
            switch (setting, try? JSONValue(parsing: json)) {
            case (.defaultWriteSizeLimit, .string(let name)?):
                guard let limit = WriteSizeLimit(rawValue: name) else { break }
                writeSizeLimit = limit
                return nil
            case (.strictTriggerValidation, .bool(let isStrict)?):
                validatesTriggersStrictly = isStrict
                return nil
            default: break
            }
            return switch setting {
            case .defaultWriteSizeLimit: "\(WriteSizeLimit.names), in quotes"
            case .strictTriggerValidation: "true or false"
            }
        }
    }

    /// For writes that say nothing themselves.
    var sizeLimit: WriteSizeLimit { settings.withLock { $0.writeSizeLimit } }

    func setting(_ name: String) -> [UInt8]? {
        RealtimeSetting(rawValue: name).map { setting in settings.withLock { $0.json(setting) } }
    }

    func setSetting(
        _ name: String, _ json: [UInt8],
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {
        guard let setting = RealtimeSetting(rawValue: name) else { return completion(.failure(.unknownRequest(name))) }
        var new = settings.withLock { $0 }
        if let wanted = new.set(setting, to: json) {
            return completion(.failure(.invalidSetting("\(name) must be \(wanted)")))
        }
        store.set(name, to: json, in: self.name) { [self] result in
            if case .success = result { restore(setting, json) }
            completion(result.mapError { RealtimeServiceError($0, of: self.name) })
        }
    }

    /// Takes over what is durable.
    func restore(_ setting: RealtimeSetting, _ json: [UInt8]) {
        settings.withLock { settings in _ = settings.set(setting, to: json) }
    }
}

extension WriteSizeLimit {
    /// What one commit writes in that time, about.
    fileprivate static let rowsPerSecond = 100_000

    var rows: Int? { seconds.map { $0 * Self.rowsPerSecond } }

    /// What is staged in that time, about: no other rows are looked at.
    var stagedRows: Int? { rows.map { 5 * $0 } }
}
