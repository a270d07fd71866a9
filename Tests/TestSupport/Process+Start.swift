package import Foundation

#if canImport(Glibc)
    import Glibc
#endif

extension Process {
    /// Runs the process, as `run()` does.
    ///
    /// Foundation looks through `/proc/self/fd` and copies whole entries of its directory, also the last ones in a buffer, and so
    /// reads beyond the buffer. With more than a thousand open descriptors and an allocator that has just returned memory to the
    /// system, nothing may be there, and the tests would crash. A buffer in a mapping of its own has room behind it.
    package func start() throws {
        #if canImport(Glibc)
            Self.mapLargeBuffers()
        #endif
        try run()
    }

    #if canImport(Glibc)
        /// `mallopt(M_MMAP_THRESHOLD, 32768)`, which Swift's module of the C library doesn't have.
        private static func mapLargeBuffers() {
            typealias Function = @convention(c) (CInt, CInt) -> CInt
            guard let symbol = dlsym(nil, "mallopt") else { return }
            _ = unsafeBitCast(symbol, to: Function.self)(-3, 32_768)
        }
    #endif
}
