#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The reason why a data directory can't be used. Its description is a sentence for the operator.
package struct DataDirectoryError: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String
    /// Whether another host uses the directory.
    package var isInUse = false

    package init(_ description: String, isInUse: Bool = false) {
        self.description = description
        self.isInUse = isInUse
    }

    /// - Parameter reason: the `errno` of the call that failed.
    package static func refused(by reason: Int32, _ what: String) -> DataDirectoryError {
        DataDirectoryError("\(what): \(String(cString: strerror(reason)))")
    }
}
