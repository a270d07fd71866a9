package import DataDirectory
import FunctionManifest
import WorkerProtocol
import Crypto
import Foundation
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The releases of a data directory: `releases/BUNDLE/ID/` with the executable, what it needs beside it and
/// `release.json`, and `releases/index.json` that says which are served.
///
/// A release is there whole or not at all: it is made under another name, synced, and renamed. One that was never served
/// is a draft; the next start removes it. One task at a time works with it.
package struct ReleaseStore: Sendable {
    let directory: String

    package init(in data: DataDirectory) { directory = data.file("releases") }

    /// Of a data directory that no host has.
    init(data: String) { directory = data + "/releases" }

    private var files: FileManager { .default }

    // MARK: The index

    /// - Throws: ``ReleaseError`` where it can't be read; it isn't guessed then what is served.
    func index() throws(ReleaseError) -> ReleaseIndex {
        let path = directory + "/index.json"
        guard files.fileExists(atPath: path) else { return ReleaseIndex() }
        do {
            let index = try JSONDecoder().decode(ReleaseIndex.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
            guard index.format == 1 else {
                throw ReleaseError("it is of format \(index.format), which a newer functions-host wrote")
            }
            return index
        } catch {
            throw ReleaseError(
                "\(path), which says what is served, can't be read (\(error)); put it back from a copy, or remove it to "
                    + "serve the bundles of functions.json as they are built")
        }
    }

    func write(_ index: ReleaseIndex) throws(ReleaseError) {
        do {
            try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            try FileBytes.replace("index.json", in: directory, with: Array(try encoder.encode(index)))
        } catch {
            throw ReleaseError("what is served can't be written down: \(error)")
        }
    }

    // MARK: Releases

    private func path(_ bundle: String, _ id: String) -> String { "\(directory)/\(bundle)/\(id)" }

    private static let program = "bundle"
    private static let recordName = "release.json"

    func executable(of bundle: String, _ id: String) -> String { path(bundle, id) + "/" + Self.program }

    /// All of a bundle that are whole, the oldest first.
    func releases(of bundle: String) -> [ReleaseRecord] {
        let names = (try? files.contentsOfDirectory(atPath: "\(directory)/\(bundle)")) ?? []
        return names.sorted().compactMap { try? record(of: bundle, $0) }
    }

    func record(of bundle: String, _ id: String) throws(ReleaseError) -> ReleaseRecord {
        guard Self.areNames(bundle, id) else {
            throw ReleaseError("\(bundle) and \(id) are no names of a bundle and a release")
        }
        let path = path(bundle, id)
        guard files.fileExists(atPath: path) else {
            throw ReleaseError("there is no release \(id) of the bundle \(bundle)")
        }
        do {
            let data = try Data(contentsOf: URL(fileURLWithPath: path + "/" + Self.recordName))
            let version = try JSONDecoder().decode(Version.self, from: data).manifest.protocolVersion
            guard version == Int(Frame.protocolVersion) else {
                throw ReleaseError(
                    "it speaks version \(version) of the host's protocol, this host speaks \(Frame.protocolVersion); build "
                        + "it with this FunctionsRuntime and deploy it again")
            }
            let record = try JSONDecoder().decode(ReleaseRecord.self, from: data)
            guard record.format == 1, record.id == id, record.bundle == bundle else {
                throw ReleaseError("release.json speaks of another release")
            }
            let size = try files.attributesOfItem(atPath: executable(of: bundle, id))[.size] as? Int
            guard size == record.size else {
                throw ReleaseError("its executable has \(size ?? 0) bytes in place of \(record.size)")
            }
            return record
        } catch {
            throw ReleaseError("the release \(id) of the bundle \(bundle) in \(path) can't be served: \(error)")
        }
    }

    /// What is read of a record of any version.
    private struct Version: Decodable {
        struct Manifest: Decodable {
            var protocolVersion: Int
        }
        var manifest: Manifest
    }

    /// - Throws: ``ReleaseError`` where the release isn't there whole. Its files' contents aren't looked at.
    func release(of bundle: String, _ id: String) throws(ReleaseError) -> Release {
        release(try record(of: bundle, id))
    }

    private func release(_ record: ReleaseRecord) -> Release {
        Release(
            bundle: record.bundle, id: record.id, executable: executable(of: record.bundle, record.id),
            manifest: record.manifest)
    }

    /// - Throws: ``ReleaseError`` where the release isn't there whole, or its files aren't those that were deployed.
    func verified(_ bundle: String, _ id: String) async throws(ReleaseError) -> Release {
        let record = try record(of: bundle, id)
        let path = path(bundle, id)
        do {
            guard try await Self.aside({ try Self.digest(of: path) }) == record.checksum else {
                throw ReleaseError("its files aren't what was deployed: the checksums differ")
            }
        } catch {
            throw ReleaseError("the release \(id) of the bundle \(bundle) is damaged: \(error)")
        }
        return release(record)
    }

    /// Copies an executable, and what stands beside it for it, as a draft.
    ///
    /// - Parameters:
    ///   - record: what is known of it; its checksum and size come from the copy. An empty id is made here.
    ///   - inspect: asks the copy what functions it has.
    /// - Returns: the record as it is kept; where the bundle has a release with the same checksum, that one's.
    func add(
        _ record: ReleaseRecord, from executable: String, at time: String,
        inspect: (_ copy: String) async throws -> Manifest
    ) async throws -> ReleaseRecord {
        var record = record
        let parent = "\(directory)/\(record.bundle)"
        try files.createDirectory(atPath: parent, withIntermediateDirectories: true)
        let draft = "\(parent)/.draft-\(UUID().uuidString)"
        try files.createDirectory(atPath: draft, withIntermediateDirectories: false)
        defer { try? files.removeItem(atPath: draft) }
        let copy = draft + "/" + Self.program
        (record.checksum, record.size) = try await Self.aside {
            // A link would be what others make of it.
            let executable = (executable as NSString).resolvingSymlinksInPath
            try files.copyItem(atPath: executable, toPath: copy)
            try copyResources(beside: executable, to: draft)
            try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: copy)
            let size = try files.attributesOfItem(atPath: copy)[.size] as? Int
            return (try Self.digest(of: draft), size ?? 0)
        }
        if record.id.isEmpty {
            if let same = releases(of: record.bundle).last(where: { $0.checksum == record.checksum }) { return same }
            record.id = Self.id(at: time, record.checksum)
        } else if let same = try? self.record(of: record.bundle, record.id) {
            guard same.checksum == record.checksum else {
                throw ReleaseError("the bundle \(record.bundle) has another release with the id \(record.id)")
            }
            return same
        }
        record.manifest = try await inspect(copy)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let (place, text) = (path(record.bundle, record.id), Array(try encoder.encode(record)))
        try await Self.aside {
            try FileBytes.replace(Self.recordName, in: draft, with: text)
            try Self.sync(copy)
            try files.moveItem(atPath: draft, toPath: place)
            try Self.sync(parent)
        }
        return record
    }

    /// Directories such as `Package_Product.resources`, in which the package manager puts a product's resources.
    private func copyResources(beside executable: String, to draft: String) throws {
        let place = (executable as NSString).deletingLastPathComponent
        for name in try files.contentsOfDirectory(atPath: place) where name.hasSuffix(".resources") {
            try files.copyItem(atPath: place + "/" + name, toPath: draft + "/" + name)
        }
    }

    func remove(_ bundle: String, _ id: String) {
        if Self.areNames(bundle, id) { try? files.removeItem(atPath: path(bundle, id)) }
    }

    /// Whether they name a directory here, and none elsewhere.
    private static func areNames(_ bundle: String, _ id: String) -> Bool {
        [bundle, id].allSatisfy { !$0.isEmpty && !$0.contains("/") && $0 != "." && $0 != ".." }
    }

    /// Removes served releases but the latest ones.
    ///
    /// - Parameter drafts: whether what was never served goes too, as at a start; somebody may be asked about it else.
    package func clean(keeping count: Int, drafts: Bool) throws(ReleaseError) {
        let index = try index()
        // An index that somebody has taken away is no reason to take the releases away too.
        guard !index.history.isEmpty else { return }
        for bundle in (try? files.contentsOfDirectory(atPath: directory)) ?? [] {
            let served = index.served(of: bundle)
            var kept = Set(served.suffix(count))
            if let current = index.current[bundle] { kept.insert(current) }
            for name in (try? files.contentsOfDirectory(atPath: "\(directory)/\(bundle)")) ?? []
            where !kept.contains(name) && (drafts || served.contains(name)) { remove(bundle, name) }
        }
    }

    // MARK: Parts

    /// The time to the second, then the first digits of the checksum: `20261121-201530-6f53034a`.
    private static func id(at time: String, _ checksum: String) -> String {
        let digits = time.prefix(19).filter(\.isNumber)
        return "\(digits.prefix(8))-\(digits.dropFirst(8))-\(checksum.prefix(8))"
    }

    /// Of all files of a release but its record, with their names.
    private static func digest(of directory: String) throws -> String {
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
        return hash.finalize().map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }

    /// Works with files on a thread that may wait for the disk: tasks have as few as there are processors.
    static func aside<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await NIOThreadPool.singleton.runIfActive(work)
    }

    /// Returns once the file or directory is on disk.
    private static func sync(_ path: String) throws {
        let descriptor = FileBytes.open(path, O_RDONLY)
        guard descriptor >= 0 else { throw ReleaseError("\(path) can't be opened") }
        defer { FileBytes.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw ReleaseError("\(path) can't be written to disk") }
    }
}
