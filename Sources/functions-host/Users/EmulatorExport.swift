import DocumentModel
import Foundation
import StorageEngine
import StrictJSON

/// A directory as `firebase emulators:export` writes it, and `firebase emulators:start --import` reads it. This is its part
/// about users.
struct EmulatorExport {
    private static let metadata = "firebase-export-metadata.json"
    private static let authDirectory = "auth_export"

    private let directory: String
    private let part: String
    /// The parts that its metadata names besides the users.
    private let otherParts: [String]

    /// - Returns: nil if the path isn't a directory.
    /// - Throws: `DocumentError` if the directory isn't such an export, or has no users.
    init?(_ path: String) throws(DocumentError) {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue else {
            return nil
        }
        directory = path
        guard let bytes = FileManager.default.contents(atPath: path + "/" + Self.metadata) else {
            throw .invalidArgument("\(path) is not an export of the Firebase emulators: it has no \(Self.metadata)")
        }
        guard let json = try? JSONValue(parsing: Array(bytes)) else {
            throw .invalidArgument("\(path)/\(Self.metadata) is not JSON")
        }
        guard let part = json["auth"]?["path"]?.stringValue else {
            throw .invalidArgument("\(path) has no users: its \(Self.metadata) names no part \"auth\"")
        }
        self.part = part
        otherParts = (json.objectValue?.keys ?? []).filter { $0 != "version" && $0 != "auth" }
    }

    var accounts: String { "\(directory)/\(part)/accounts.json" }

    /// The settings of sign-in; nil if the export has none.
    func settings() throws(DocumentError) -> JSONObject? {
        let file = "\(directory)/\(part)/config.json"
        guard let bytes = FileManager.default.contents(atPath: file) else { return nil }
        guard let settings = (try? JSONValue(parsing: Array(bytes)))?.objectValue else {
            throw .invalidArgument("\(file) is not a JSON object")
        }
        return settings
    }

    /// The files of tenants' users.
    func tenantFiles() throws -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(directory)/\(part)")) ?? []
        return files.filter { $0.hasPrefix("accounts-") && $0.hasSuffix(".json") }.sorted()
    }

    /// What the directory has besides users: the names of parts and of files.
    private func others() throws -> [String] {
        let own = [Self.metadata, ".DS_Store", part.split(separator: "/").first.map(String.init) ?? part]
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        return otherParts + names.filter { !own.contains($0) }.sorted()
    }

    // MARK: Writing

    /// Writes such a directory: under another name, until it is complete and synced.
    ///
    /// - Parameters:
    ///   - path: the directory to create.
    ///   - replacing: whether it may replace an earlier export of users alone.
    ///   - settings: of sign-in; nil if they aren't known.
    ///   - accounts: writes the users to the path of a file, and syncs it.
    /// - Returns: where the replaced export is, if it can't be deleted.
    static func write(
        to path: String, replacing: Bool, settings: JSONObject?, accounts: (String) async throws -> Void
    ) async throws -> String? {
        let files = FileManager.default
        try StoreFile.undoExchange(of: path)
        let isThere = files.fileExists(atPath: path)
        if isThere {
            guard replacing else {
                throw DocumentError(.alreadyExists, "\(path) already exists; use another, or --replace")
            }
            guard let earlier = try EmulatorExport(path) else {
                throw DocumentError(
                    .failedPrecondition, "\(path) is a file, not an export that --replace could replace")
            }
            let others = try earlier.others()
            guard others.isEmpty else {
                throw DocumentError(
                    .failedPrecondition,
                    "\(path) has more than users, which --replace would delete: \(others.joined(separator: ", ")); "
                        + "name another directory")
            }
        }
        let draft = "\(path).unfinished-\(UUID().uuidString)"
        do {
            let only: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            let part = draft + "/" + authDirectory
            try files.createDirectory(atPath: part, withIntermediateDirectories: true, attributes: only)
            try await accounts(part + "/accounts.json")
            if let settings { try write(.object(settings), to: part + "/config.json") }
            let version = JSONValue.string("functions-host")
            try write(
                ["version": version, "auth": ["version": version, "path": .string(authDirectory)]],
                to: draft + "/" + metadata)
            for directory in [part, draft] { try StoreFile.sync(directory) }
            if isThere {
                try StoreFile.exchange(draft, with: path)
            } else {
                try files.moveItem(atPath: draft, toPath: path)
            }
        } catch {
            try? files.removeItem(atPath: draft)
            throw error
        }
        try StoreFile.syncDirectory(of: path)
        guard isThere else { return nil }
        // The draft's name is that of the replaced export now.
        do { try files.removeItem(atPath: draft) } catch { return draft }
        return nil
    }

    private static func write(_ json: JSONValue, to file: String) throws {
        // The host's answer is in any order, and exports are compared.
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var bytes = try encoder.encode(json)
        bytes.append(UInt8(ascii: "\n"))
        guard FileManager.default.createFile(atPath: file, contents: bytes, attributes: [.posixPermissions: 0o600])
        else {
            throw DocumentError(.unavailable, "\(file) can't be written")
        }
        try StoreFile.sync(file)
    }
}
