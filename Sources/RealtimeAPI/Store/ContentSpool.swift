import RealtimeModel
import RealtimeStore
import Sharing
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where large values wait until their clients have taken them: in files without a name, so that a slow client holds
/// neither memory nor a state of the store.
final class ContentSpool: Sendable {
    /// Values up to this are kept in memory.
    static let maxBytesInMemory = 256 * 1024

    private let directory: String
    private let budget: MemoryBudget
    private let work = LongWork("realtime.contents")

    /// - Parameters:
    ///   - directory: where the files are.
    ///   - bytes: what all values together may have, shared among callers as a `MemoryBudget` is.
    init(directory: String, bytes: Int = 4 * 1024 * 1024 * 1024) {
        self.directory = directory
        budget = MemoryBudget(total: bytes)
    }

    /// Collects a value.
    ///
    /// - Parameter write: hands over its pieces, none of which ends within a character.
    /// - Throws: what it throws, or `unavailable` if the value can't be kept.
    func collect(
        for holder: MemoryBudget.Holder, _ write: (_ receive: ([UInt8]) throws -> Void) throws -> Void
    ) throws -> RealtimeContent {
        var bytes: [UInt8] = []
        var file: SpooledContent?
        try write { piece in
            if let file { return try file.append(piece) }
            bytes += piece
            guard bytes.count > Self.maxBytesInMemory else { return }
            let new = try SpooledContent(in: directory, budget, holder, work)
            try new.append(bytes)
            bytes = []
            file = new
        }
        return file.map { .stream($0, units: $0.units) } ?? .bytes(bytes)
    }
}

/// A value in a file that ends with it.
final class SpooledContent: RealtimeContentStream {
    private struct State {
        var length = 0
        var units = 0
        var position = 0
    }

    private let descriptor: Int32
    private let budget: MemoryBudget
    private let holder: MemoryBudget.Holder
    private let work: LongWork
    private let state = Mutex(State())

    /// What is read at once.
    private static let pieceBytes = 65_536

    fileprivate init(
        in directory: String, _ budget: MemoryBudget, _ holder: MemoryBudget.Holder, _ work: LongWork
    ) throws {
        var name = Array("\(directory)/.value-XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        self.budget = budget
        self.holder = holder
        self.work = work
        guard descriptor >= 0 else { throw Self.failure() }
        unlink(name)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        budget.release(state.withLock { $0.length }, of: holder)
    }

    private static func failure() -> RealtimeFailure {
        RealtimeFailure(
            .unavailable, "a large value can't be kept for its client: \(String(cString: strerror(errno)))")
    }

    /// In UTF-16.
    var units: Int { state.withLock { $0.units } }

    fileprivate func append(_ piece: [UInt8]) throws {
        guard budget.take(piece.count, for: holder) else {
            throw RealtimeFailure(.unavailable, "too many large values wait for their clients at the moment")
        }
        let offset = state.withLock { state in
            defer {
                state.length += piece.count
                state.units += piece.withUnsafeBytes { UTF16Units.count($0) }
            }
            return state.length
        }
        var written = 0
        while written < piece.count {
            let count = piece.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + written))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure() }
            written += count
        }
    }

    func next(_ completion: @escaping @Sendable (Result<[UInt8]?, RealtimeServiceError>) -> Void) {
        work.add { [self] in
            do throws(RealtimeFailure) {
                completion(.success(try read()))
            } catch {
                completion(.failure(.unavailable(error.message)))
            }
        }
    }

    /// - Returns: nil at the end.
    private func read() throws(RealtimeFailure) -> [UInt8]? {
        let (position, length) = state.withLock { ($0.position, $0.length) }
        guard position < length else { return nil }
        var bytes = [UInt8](repeating: 0, count: min(Self.pieceBytes, length - position))
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { bytes in
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
                return pread(descriptor, rest.baseAddress, rest.count, off_t(position + filled))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure() }
            filled += count
        }
        if position + filled < length { bytes.removeLast(Self.cutCharacter(at: bytes)) }
        state.withLock { $0.position += bytes.count }
        return bytes
    }

    /// The bytes at the end that are a part of a character only.
    private static func cutCharacter(at bytes: [UInt8]) -> Int {
        for count in 1...3 where count < bytes.count {
            let byte = bytes[bytes.count - count]
            if byte < 0x80 { return 0 }
            guard byte >= 0xC0 else { continue }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
            return length > count ? count : 0
        }
        return 0
    }

    /// The file ends with the last reference.
    func cancel() {}
}
