import ControlProtocol
import DataDirectory
import Foundation
import HostConfiguration
import SecurityRules

/// The metadata of a release of rules and indexes, stored beside them in `release.json`. It never changes.
struct RulesRecord: Codable, Equatable, Sendable {
    var format = 1
    var id: String
    /// SHA-256 of the release's files and their names, in hexadecimal.
    var checksum: String
    /// The size of the files in bytes.
    var size: Int
    /// RFC 3339.
    var created: String
    /// The operating system's user who deployed it.
    var creator: String
    /// The paths that the files were copied from.
    var source: String
}

/// Releases of rules and indexes: `releases/rules/ID/` has the files that there are of `firestore.rules`,
/// `firestore.indexes.json` and `database.rules.json`, and `release.json`.
extension ReleaseStore {
    private static let name = HostConfiguration.rulesName
    private static let rulesFile = "firestore.rules"
    private static let indexFile = "firestore.indexes.json"
    private static let databaseRulesFile = "database.rules.json"

    /// Stores rules and indexes as a draft.
    ///
    /// - Returns: the stored record. If there already is a release with the same content, its record.
    func addRules(_ rules: ProjectRules, source: String, creator: String, at time: String) async throws -> RulesRecord {
        var files: [(name: String, bytes: [UInt8])] = []
        if let rules = rules.rules { files.append((Self.rulesFile, rules.source)) }
        if let indexes = rules.indexes { files.append((Self.indexFile, indexes.source)) }
        if let rules = rules.databaseRules { files.append((Self.databaseRulesFile, rules.source)) }
        let size = files.reduce(0) { $0 + $1.bytes.count }
        return try await Self.runBlocking { [files] in
            let draft = try makeDraft(of: Self.name)
            defer { try? FileManager.default.removeItem(atPath: draft) }
            for file in files { try FileBytes.replace(file.name, in: draft, with: file.bytes) }
            let checksum = try Self.digest(of: draft)
            if let same = rulesRecords.last(where: { $0.checksum == checksum }), (try? self.rules(same.id)) != nil {
                return same
            }
            let record = RulesRecord(
                id: Self.id(at: time, checksum), checksum: checksum, size: size, created: time, creator: creator,
                source: source)
            try keep(draft, of: Self.name, as: record.id, record)
            return record
        }
    }

    /// The complete releases, the oldest first.
    var rulesRecords: [RulesRecord] { ids(of: Self.name).compactMap { try? rulesRecord($0) } }

    private func rulesRecord(_ id: String) throws(ReleaseError) -> RulesRecord {
        let path = try existing(Self.name, id)
        do {
            let data = try Data(contentsOf: URL(fileURLWithPath: path + "/" + Self.recordName))
            let record = try JSONDecoder().decode(RulesRecord.self, from: data)
            guard record.format == 1, record.id == id else {
                throw ReleaseError("release.json describes another release")
            }
            return record
        } catch {
            throw ReleaseError("the release \(id) of the rules in \(path) can't be served: \(error)")
        }
    }

    /// - Throws: ``ReleaseError`` if the release doesn't exist, its files have changed since it was deployed, or this
    ///   version of the host doesn't accept them.
    func rules(_ id: String) throws(ReleaseError) -> ProjectRules {
        let record = try rulesRecord(id)
        let path = try existing(Self.name, id)
        do {
            guard try Self.digest(of: path) == record.checksum else {
                throw ReleaseError("its files have changed since it was deployed: the checksums differ")
            }
        } catch {
            throw ReleaseError("the release \(id) of the rules is damaged: \(error)")
        }
        func file(_ name: String) -> String? {
            let file = path + "/" + name
            return FileManager.default.fileExists(atPath: file) ? file : nil
        }
        do throws(ConfigurationError) {
            return try ProjectRules(
                loading: RulesSource(
                    rules: file(Self.rulesFile), indexes: file(Self.indexFile),
                    databaseRules: file(Self.databaseRulesFile)))
        } catch {
            // They are as they were deployed, by a host of another version.
            let isRead = error.problems.contains { $0.place != nil }
            let reason = isRead ? "doesn't compile with this functions-host" : "can't be read"
            throw ReleaseError("the release \(id) of the rules \(reason): \(error)")
        }
    }
}
