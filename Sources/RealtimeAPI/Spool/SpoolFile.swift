package import RealtimeStore
import Sharing
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file without a name, which ends with its last reference.
package final class SpoolFile: Sendable {
    private let descriptor: Int32
    private let budget: MemoryBudget
    private let holder: MemoryBudget.Holder
    private let written = Atomic(0)

    /// - Parameters:
    ///   - budget: what all such files may have together.
    ///   - holder: on whose behalf it is written.
    /// - Throws: `RealtimeFailure` if it can't be made.
    init(in directory: String, _ budget: MemoryBudget, for holder: MemoryBudget.Holder) throws(RealtimeFailure) {
        self.budget = budget
        self.holder = holder
        var name = Array("\(directory)/.spool-XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw Self.failure() }
        unlink(name)
    }

    /// A file of the operator's, which may have any length.
    package convenience init(in directory: String) throws(RealtimeFailure) {
        try self.init(in: directory, MemoryBudget(total: .max), for: .host)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        budget.release(length, of: holder)
    }

    private static func failure() -> RealtimeFailure {
        RealtimeFailure(.unavailable, "a large value can't be kept: \(String(cString: strerror(errno)))")
    }

    package var length: Int { written.load(ordering: .acquiring) }

    /// Appends bytes. Not to be called by two threads at once.
    ///
    /// - Throws: `RealtimeFailure` if the disk or the budget has no room.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(RealtimeFailure) {
        guard budget.take(bytes.count, for: holder) else {
            throw RealtimeFailure(.unavailable, "too many large values are being received or sent at the moment")
        }
        let start = written.add(bytes.count, ordering: .acquiringAndReleasing).oldValue
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(start + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure() }
            done += count
        }
    }

    /// Reads up to a number of bytes.
    func read(at position: Int, _ count: Int) throws(RealtimeFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(min(count, length - position), 0))
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes { bytes in
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
                return pread(descriptor, rest.baseAddress, rest.count, off_t(position + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure() }
            done += count
        }
        return bytes
    }

    /// Gives the whole content to a body, without a copy in memory.
    package func withBytes<Success>(_ body: (UnsafeRawBufferPointer) throws -> Success) throws -> Success {
        guard length > 0 else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        guard let start = mmap(nil, length, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
            throw Self.failure()
        }
        defer { munmap(start, length) }
        return try body(UnsafeRawBufferPointer(start: start, count: length))
    }

    /// Takes the first bytes of a whole content, which aren't needed any more, out of memory.
    package static func release(_ bytes: UnsafeRawBufferPointer, upTo count: Int) {
        let page = Int(getpagesize())
        guard let start = bytes.baseAddress, count >= page else { return }
        madvise(UnsafeMutableRawPointer(mutating: start), count / page * page, MADV_DONTNEED)
    }
}
