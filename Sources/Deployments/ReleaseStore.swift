package import DataDirectory
import FunctionManifest
import TextFormats
import WorkerProtocol
import Crypto
import Foundation
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The releases of a data directory: `releases/BUNDLE/ID/` has the executable, its resources and `release.json`, and
/// `releases/index.json` has the current release of each bundle and the history.
///
/// A release is added atomically: it is written under another name, synced, and renamed. A release that was never
/// served is a draft; the next start deletes it. Only one task at a time may use the store.
package struct ReleaseStore: Sendable {
    let directory: String

    package init(in data: DataDirectory) { directory = data.file("releases") }

    /// Opens the releases without the data directory's lock.
    init(data: String) { directory = data + "/releases" }

    private var files: FileManager { .default }

    // MARK: The index

    /// - Throws: ``ReleaseError`` if the index can't be read. The host must not guess what to serve then.
    func index() throws(ReleaseError) -> ReleaseIndex {
        let path = directory + "/index.json"
        if access(path, R_OK) != 0 {
            let reason = errno
            guard reason != ENOENT else { return ReleaseIndex() }
            guard reason != EACCES else {
                throw ReleaseError(
                    "\(path), the index of served releases, can't be read, because it or its directory belongs to another "
                        + "user; give them to the host's: chown -R \(geteuid()) \(directory)")
            }
        }
        let format: Int
        let index: ReleaseIndex
        do {
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            format = try JSONDecoder().decode(IndexFormat.self, from: data).format
            // A newer one may have other members.
            index =
                format <= ReleaseIndex.newestFormat
                ? try JSONDecoder().decode(ReleaseIndex.self, from: data) : ReleaseIndex()
        } catch {
            throw ReleaseError(
                "\(path), the index of served releases, can't be read (\(error)); restore it from a copy, "
                    + "or delete it to serve the local builds of functions.json")
        }
        guard format <= ReleaseIndex.newestFormat else {
            throw ReleaseError(
                "\(path), the index of served releases, has format \(format), written by a newer functions-host; use that "
                    + "one")
        }
        return index
    }

    /// The part of an index that each format has.
    private struct IndexFormat: Decodable {
        var format: Int
    }

    func write(_ index: ReleaseIndex) throws(ReleaseError) {
        do {
            try FileBytes.makeDirectory(directory)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            try FileBytes.replace("index.json", in: directory, with: Array(try encoder.encode(index)))
        } catch {
            throw ReleaseError("the index of served releases can't be written: \(error)")
        }
    }

    // MARK: Releases

    private func path(_ bundle: String, _ id: String) -> String { "\(directory)/\(bundle)/\(id)" }

    private static let program = "bundle"
    static let recordName = "release.json"

    func executable(of bundle: String, _ id: String) -> String { path(bundle, id) + "/" + Self.program }

    /// The complete releases of a bundle, the oldest first.
    func releases(of bundle: String) -> [ReleaseRecord] { ids(of: bundle).compactMap { try? record(of: bundle, $0) } }

    func ids(of bundle: String) -> [String] {
        ((try? files.contentsOfDirectory(atPath: "\(directory)/\(bundle)")) ?? []).sorted()
    }

    /// The directory of a release.
    func existing(_ bundle: String, _ id: String) throws(ReleaseError) -> String {
        guard Self.areValidNames(bundle, id) else {
            throw ReleaseError("\(bundle) and \(id) are not valid names of a bundle and a release")
        }
        let path = path(bundle, id)
        guard files.fileExists(atPath: path) else {
            throw ReleaseError("there is no release \(id) of the bundle \(bundle)")
        }
        return path
    }

    func record(of bundle: String, _ id: String) throws(ReleaseError) -> ReleaseRecord {
        let path = try existing(bundle, id)
        do {
            let data = try Data(contentsOf: URL(fileURLWithPath: path + "/" + Self.recordName))
            let version = try JSONDecoder().decode(Version.self, from: data).manifest.protocolVersion
            guard Manifest.servedVersions.contains(version) else {
                throw ReleaseError(
                    "it uses version \(version) of the worker protocol, "
                        + "and this host serves \(Manifest.servedWords); "
                        + "build it with this FunctionsRuntime and deploy it again")
            }
            let record = try JSONDecoder().decode(ReleaseRecord.self, from: data)
            guard record.format == 1, record.id == id, record.bundle == bundle else {
                throw ReleaseError("release.json describes another release")
            }
            let size = try files.attributesOfItem(atPath: executable(of: bundle, id))[.size] as? Int
            guard size == record.size else {
                throw ReleaseError("its executable has \(size ?? 0) bytes instead of \(record.size)")
            }
            return record
        } catch {
            throw ReleaseError("the release \(id) of the bundle \(bundle) in \(path) can't be served: \(error)")
        }
    }

    /// The part of a record that each version of the protocol has.
    private struct Version: Decodable {
        struct Manifest: Decodable {
            var protocolVersion: Int
        }
        var manifest: Manifest
    }

    /// - Throws: ``ReleaseError`` if the release doesn't exist or is incomplete. The contents of its files aren't
    ///   checked.
    func release(of bundle: String, _ id: String) throws(ReleaseError) -> Release {
        release(try record(of: bundle, id))
    }

    private func release(_ record: ReleaseRecord) -> Release {
        Release(
            bundle: record.bundle, id: record.id, executable: executable(of: record.bundle, record.id),
            manifest: record.manifest)
    }

    /// - Throws: ``ReleaseError`` if the release doesn't exist, is incomplete, or its files have changed since it was
    ///   deployed.
    func verified(_ bundle: String, _ id: String) async throws(ReleaseError) -> Release {
        let record = try record(of: bundle, id)
        let path = path(bundle, id)
        do {
            guard try await Self.runBlocking({ try Self.digest(of: path) }) == record.checksum else {
                throw ReleaseError("its files have changed since it was deployed: the checksums differ")
            }
        } catch {
            throw ReleaseError("the release \(id) of the bundle \(bundle) is damaged: \(error)")
        }
        return release(record)
    }

    /// Copies an executable and its resources as a draft.
    ///
    /// - Parameters:
    ///   - record: the release's metadata; its size and manifest come from the copy. The copy must have its checksum. An
    ///     empty id is replaced by a new one, and an empty checksum by the copy's.
    ///   - inspect: gets the copy's manifest.
    /// - Returns: the stored record. If the bundle already has a release with the same files, its record; a damaged one is
    ///   stored again.
    func add(
        _ record: ReleaseRecord, from executable: String, at time: String,
        inspect: (_ copy: String) async throws -> Manifest
    ) async throws -> ReleaseRecord {
        var record = record
        let expected = record.checksum
        let draft = try makeDraft(of: record.bundle)
        defer { try? files.removeItem(atPath: draft) }
        let copy = draft + "/" + Self.program
        do {
            (record.checksum, record.size) = try await Self.runBlocking {
                // The file is copied and not a link to it, whose target others could change.
                let executable = (executable as NSString).resolvingSymlinksInPath
                try FileBytes.copy(executable, to: copy)
                try copyResources(beside: executable, to: draft)
                try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: copy)
                let size = try files.attributesOfItem(atPath: copy)[.size] as? Int
                return (try Self.digest(of: draft), size ?? 0)
            }
        } catch let error as CocoaError {
            throw ReleaseError("\(executable) can't be copied with its resources: \(error.reason)")
        } catch let error as DataDirectoryError {
            throw ReleaseError("\(executable) can't be copied with its resources: \(error)")
        }
        guard expected.isEmpty || record.checksum == expected else {
            // Kept, it would have the id, and the right one would be refused.
            throw ReleaseError("the executable is not that of the release \(record.id): the checksums differ")
        }
        if record.id.isEmpty {
            for same in releases(of: record.bundle).reversed() where same.checksum == record.checksum {
                if (try? await verified(record.bundle, same.id)) != nil { return same }
            }
            record.id = Self.id(at: time, record.checksum)
        } else if let same = try? self.record(of: record.bundle, record.id) {
            guard same.checksum == record.checksum else {
                throw ReleaseError("the bundle \(record.bundle) has another release with the id \(record.id)")
            }
            if (try? await verified(record.bundle, record.id)) != nil { return same }
        }
        do { record.manifest = try await inspect(copy) } catch var error as BundleError {
            // The copy is gone when the error is read.
            error.executable = executable
            throw error
        }
        let complete = record
        try await Self.runBlocking {
            try syncAll(in: draft)
            try keep(draft, of: complete.bundle, as: complete.id, complete)
        }
        return record
    }

    /// Of the names of directories that aren't complete.
    private static let draftPrefix = ".draft-"

    /// Makes a directory for the files of a new release of a bundle.
    func makeDraft(of bundle: String) throws -> String {
        let parent = "\(directory)/\(bundle)"
        try FileBytes.makeDirectory(directory)
        try FileBytes.makeDirectory(parent)
        let draft = "\(parent)/\(Self.draftPrefix)\(UUID().uuidString)"
        try files.createDirectory(atPath: draft, withIntermediateDirectories: false)
        return draft
    }

    /// Waits until a draft's files are on the disk, the resources among them.
    private func syncAll(in draft: String) throws {
        for name in try files.subpathsOfDirectory(atPath: draft) {
            let path = draft + "/" + name
            // A link is a part of its directory.
            if (try? files.destinationOfSymbolicLink(atPath: path)) == nil { try Self.sync(path) }
        }
        try Self.sync(draft)
    }

    /// Makes a draft's directory that of a release, in place of a damaged one of this id.
    func keep(_ draft: String, of bundle: String, as id: String, _ record: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try FileBytes.replace(Self.recordName, in: draft, with: Array(try encoder.encode(record)))
        try FileBytes.giveAll(draft, toOwnerOf: directory)
        remove(bundle, id)
        try files.moveItem(atPath: draft, toPath: path(bundle, id))
        try Self.sync("\(directory)/\(bundle)")
    }

    /// Copies directories such as `Package_Product.resources`, where the package manager puts a product's resources.
    private func copyResources(beside executable: String, to draft: String) throws {
        let place = (executable as NSString).deletingLastPathComponent
        for name in try files.contentsOfDirectory(atPath: place) where name.hasSuffix(".resources") {
            try copyAll(place + "/" + name, to: draft + "/" + name)
        }
    }

    /// Copies a file, a link, or a directory with all in it. Unlike those of `copyItem(atPath:toPath:)`, the copies of
    /// directories belong to this process's user: only root may give them to the one who has built the originals, who
    /// could change what is served then.
    private func copyAll(_ path: String, to target: String) throws {
        switch try files.attributesOfItem(atPath: path)[.type] as? FileAttributeType {
        case .typeDirectory: try files.createDirectory(atPath: target, withIntermediateDirectories: false)
        case .typeSymbolicLink: return try files.copyItem(atPath: path, toPath: target)
        default: return try FileBytes.copy(path, to: target)
        }
        for name in try files.contentsOfDirectory(atPath: path) {
            try copyAll(path + "/" + name, to: target + "/" + name)
        }
    }

    func remove(_ bundle: String, _ id: String) {
        if Self.areValidNames(bundle, id) { try? files.removeItem(atPath: path(bundle, id)) }
    }

    /// Whether the names can't lead out of the store's directory.
    private static func areValidNames(_ bundle: String, _ id: String) -> Bool {
        [bundle, id].allSatisfy { !$0.isEmpty && !$0.contains("/") && $0 != "." && $0 != ".." }
    }

    /// Deletes releases that were served, except for the most recent ones and those that still have workers.
    ///
    /// - Parameter drafts: whether to delete drafts too. Only the host's start may do so: later, an operator may be
    ///   about to confirm one.
    /// - Parameter executables: the paths of the executables whose workers run, or may be started.
    package func clean(
        keeping count: Int, drafts: Bool, using executables: Set<String> = []
    ) throws(ReleaseError) {
        let index = try index()
        for bundle in (try? files.contentsOfDirectory(atPath: directory)) ?? [] {
            let served = index.served(of: bundle)
            var kept = Set(served.suffix(count))
            if let current = index.current[bundle] { kept.insert(current) }
            for name in (try? files.contentsOfDirectory(atPath: "\(directory)/\(bundle)")) ?? [] {
                let isUnused =
                    if name.hasPrefix(Self.draftPrefix) {
                        // A killed process has left it.
                        drafts
                    } else {
                        // The releases must survive if only the index was deleted.
                        !index.history.isEmpty && !kept.contains(name) && (drafts || served.contains(name))
                    }
                if isUnused, !executables.contains(executable(of: bundle, name)) { remove(bundle, name) }
            }
        }
    }

    // MARK: Files

    /// Makes an id from the time in seconds and the first digits of the checksum: `20261121-201530-6f53034a`.
    static func id(at time: String, _ checksum: String) -> String {
        let digits = time.prefix(19).filter(\.isNumber)
        return "\(digits.prefix(8))-\(digits.dropFirst(8))-\(checksum.prefix(8))"
    }

    /// The checksum of a release's files and their names, without its record.
    static func digest(of directory: String) throws -> String {
        var hash = SHA256()
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory).sorted() where name != recordName {
            let path = directory + "/" + name
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue else {
                continue
            }
            hash.update(data: Data("\(name)\0".utf8))
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? file.close() }
            while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty { hash.update(data: piece) }
        }
        return Hexadecimal.encode(hash.finalize())
    }

    /// Runs blocking file operations on a thread pool, because tasks share only as many threads as there are
    /// processors.
    static func runBlocking<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await NIOThreadPool.singleton.runIfActive(work)
    }

    /// Syncs a file or directory to disk.
    private static func sync(_ path: String) throws {
        let descriptor = FileBytes.open(path, O_RDONLY)
        guard descriptor >= 0 else { throw ReleaseError("\(path) can't be opened") }
        defer { FileBytes.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw ReleaseError("\(path) can't be written to disk") }
    }
}

extension CocoaError {
    /// The system's reason, without the rest of what Foundation's description has.
    fileprivate var reason: String {
        (underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)) } ?? localizedDescription
    }
}
