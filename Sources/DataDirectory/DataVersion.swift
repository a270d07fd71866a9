#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The format's number of a data directory, stored in its file `version`.
struct DataVersion {
    let directory: String

    /// Migrates the directory to the current format.
    ///
    /// - Throws: an error whose description is a sentence for the operator if the format is newer, the directory is not
    ///   a data directory, or a migration fails. Completed migrations stay; the next start continues after them.
    func migrate(with migrations: [DataDirectory.Migration]) throws(DataDirectoryError) {
        let newest = migrations.count + 1
        guard let found = try read() else {
            try refuseForeignFiles()
            return try write(newest)
        }
        guard found <= newest else {
            throw DataDirectoryError(
                "the data directory \(directory) has format \(found), written by a newer functions-host; "
                    + "this one supports formats up to \(newest)")
        }
        for version in found..<newest {
            let migration = migrations[version - 1]
            do {
                try migration.run(directory)
            } catch {
                throw DataDirectoryError(
                    "the data directory \(directory) could not be migrated to format \(version + 1) "
                        + "(\(migration.name)): \(error)")
            }
            try write(version + 1)
        }
    }

    /// The format's number; nil if the directory is new.
    private func read() throws(DataDirectoryError) -> Int? {
        let path = directory + "/version"
        let descriptor = FileBytes.open(path, O_RDONLY | O_NOFOLLOW)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw .refused(by: errno, "\(path) can't be opened") }
            return nil
        }
        defer { FileBytes.close(descriptor) }
        var text = Substring(String(decoding: try FileBytes.read(descriptor), as: UTF8.self))
        if text.hasSuffix("\n") { text.removeLast() }
        guard let version = Int(text), version >= 1 else {
            throw DataDirectoryError("\(path) contains no format number; restore the directory from a copy")
        }
        return version
    }

    private func write(_ version: Int) throws(DataDirectoryError) {
        try FileBytes.replace("version", in: directory, with: Array("\(version)\n".utf8))
    }

    /// Rejects a directory of other files, which is a wrong path. Hidden files and a disk's `lost+found` are allowed.
    /// - Throws: an error whose description is a sentence for the operator if the directory contains files and no
    ///   version.
    func refuseForeignFiles() throws(DataDirectoryError) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw DataDirectoryError("the data directory \(directory) can't be listed: \(error)")
        }
        let expected: Set<String> = ["lock", "version.new", "lost+found"]
        guard !names.contains("version") else { return }
        let foreign = names.filter { !$0.hasPrefix(".") && !expected.contains($0) }.sorted()
        guard let first = foreign.first else { return }
        throw DataDirectoryError(
            "\(directory) is not a data directory: it contains \"\(first)\" and no version; name an empty or new one, or "
                + "copy the file version too if the others are copies from a data directory")
    }
}
