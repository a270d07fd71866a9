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

    package init(_ description: String) { self.description = description }

    /// - Parameter reason: the `errno` of the call that failed.
    package static func refused(by reason: Int32, _ what: String) -> DataDirectoryError {
        DataDirectoryError("\(what): \(String(cString: strerror(reason)))")
    }
}
