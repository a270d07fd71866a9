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

/// The format of a data directory: a number in its file `version`.
struct DataVersion {
    let directory: String

    /// Leaves the directory in the format that follows the last migration.
    ///
    /// - Throws: a sentence where the directory is of a newer format, isn't a data directory, or a step fails. Steps
    ///   done before stay done; the next start goes on after them.
    func bring(to migrations: [DataDirectory.Migration]) throws(DataDirectoryError) {
        let newest = migrations.count + 1
        guard let found = try read() else {
            try refuseForeignFiles()
            return try write(newest)
        }
        guard found <= newest else {
            throw DataDirectoryError(
                "the data directory \(directory) is of format \(found), written by a newer functions-host; this one "
                    + "knows format \(newest) and older")
        }
        for version in found..<newest {
            let migration = migrations[version - 1]
            do {
                try migration.run(directory)
            } catch {
                throw DataDirectoryError(
                    "the data directory \(directory) could not be brought to format \(version + 1) "
                        + "(\(migration.name)): \(error)")
            }
            try write(version + 1)
        }
    }

    /// Nil where the directory is new.
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
            throw DataDirectoryError("\(path) holds no format number; restore the directory from a copy")
        }
        return version
    }

    private func write(_ version: Int) throws(DataDirectoryError) {
        try FileBytes.replace("version", in: directory, with: Array("\(version)\n".utf8))
    }

    /// A directory full of something else is a wrong path; hidden files and a disk's `lost+found` may be there.
    /// - Throws: a sentence where the directory holds files and no version: it is somebody else's.
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
            "\(directory) is no data directory: it holds \"\(first)\" and no version; name an empty or new one")
    }
}
