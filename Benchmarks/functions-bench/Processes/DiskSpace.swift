import Foundation

enum DiskSpace {
    /// What the files at or below a place take.
    static func bytes(below place: URL) throws -> Int {
        let keys: Set<URLResourceKey> = [.isRegularFileKey, .fileSizeKey]
        var files = [place]
        if let below = FileManager.default.enumerator(at: place, includingPropertiesForKeys: Array(keys)) {
            files += below.compactMap { $0 as? URL }
        }
        return try files.reduce(0) { bytes, file in
            let values = try file.resourceValues(forKeys: keys)
            return bytes + (values.isRegularFile == true ? values.fileSize ?? 0 : 0)
        }
    }
}
