/// A memory size that a function can have.
package struct MemorySize: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let mebibytes: Int

    /// The sizes Cloud Functions offers, in MiB.
    package static let offered = [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]

    /// Nil if Cloud Functions doesn't offer this size.
    package init?(mebibytes: Int) {
        guard Self.offered.contains(mebibytes) else { return nil }
        self.mebibytes = mebibytes
    }

    /// Parses a size in the form of `description`, such as `512MiB` or `1GiB`; nil for anything else.
    package init?(_ text: String) {
        guard let size = Self.offered.compactMap({ MemorySize(mebibytes: $0) }).first(where: { "\($0)" == text }) else {
            return nil
        }
        self = size
    }

    package var description: String {
        mebibytes >= 1024 ? "\(mebibytes / 1024)GiB" : "\(mebibytes)MiB"
    }

    package static func < (a: MemorySize, b: MemorySize) -> Bool { a.mebibytes < b.mebibytes }
}
