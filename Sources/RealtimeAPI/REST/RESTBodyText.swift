import NIOCore
import RealtimeModel
import RealtimeStore
import Sharing
import Synchronization

/// The body of a request as it arrives: a small one in memory, a larger one in a file. It isn't held beside what is read from
/// it.
///
/// Used on the connection's loop, but for the file.
final class RESTBodyText {
    /// What was received, once it is whole.
    enum Content: Sendable {
        case buffer(ByteBuffer)
        case file(SpooledBody)

        var bytes: Int {
            switch self {
            case .buffer(let buffer): buffer.readableBytes
            case .file(let file): file.bytes
            }
        }
    }

    private var buffer = ByteBuffer()
    private var file: SpooledBody?
    private let spool: Spool?

    /// - Parameter spool: nil to keep all in memory.
    init(_ spool: Spool?) { self.spool = spool }

    /// Whether it counts as the connection's memory.
    var isInMemory: Bool { file == nil }

    /// - Parameter holder: on whose behalf a file is written.
    func append(_ bytes: ByteBuffer, holder: @autoclosure () -> MemoryBudget.Holder) {
        if let file { return file.append(bytes) }
        if buffer.readableBytes == 0 { buffer = bytes } else { buffer.writeImmutableBuffer(bytes) }
        guard let spool, buffer.readableBytes > Spool.maxBytesInMemory else { return }
        let new = SpooledBody(spool, for: holder())
        new.append(buffer)
        buffer = ByteBuffer()
        file = new
    }

    /// How many bytes wait for the disk.
    var waitingBytes: Int { file?.waitingBytes ?? 0 }

    /// Calls back, on any thread, once the bytes that wait now are written.
    func whenWritten(_ completion: @escaping @Sendable () -> Void) { file?.whenWritten(completion) }

    /// Takes what was received.
    func take() -> Content {
        defer {
            buffer = ByteBuffer()
            file = nil
        }
        return file.map { .file($0) } ?? .buffer(buffer)
    }
}

/// A body in a file. Its thread writes and reads it.
final class SpooledBody: Sendable {
    private enum State {
        case empty
        case open(SpoolFile)
        case failed(RealtimeFailure)
    }

    private let spool: Spool
    private let holder: MemoryBudget.Holder
    private let state = Mutex(State.empty)
    private let waiting = Atomic(0)
    private let received = Atomic(0)

    init(_ spool: Spool, for holder: MemoryBudget.Holder) {
        self.spool = spool
        self.holder = holder
    }

    /// Whether they are written or not.
    var bytes: Int { received.load(ordering: .relaxed) }

    var waitingBytes: Int { waiting.load(ordering: .relaxed) }

    func append(_ bytes: ByteBuffer) {
        waiting.add(bytes.readableBytes, ordering: .relaxed)
        received.add(bytes.readableBytes, ordering: .relaxed)
        spool.work.add { [self] in
            write(bytes)
            waiting.subtract(bytes.readableBytes, ordering: .relaxed)
        }
    }

    private func write(_ bytes: ByteBuffer) {
        do throws(RealtimeFailure) {
            let file: SpoolFile
            switch state.withLock({ $0 }) {
            case .failed: return
            case .open(let open): file = open
            case .empty:
                file = try spool.makeFile(for: holder)
                state.withLock { $0 = .open(file) }
            }
            let result = bytes.withUnsafeReadableBytes { bytes in
                Result { () throws(RealtimeFailure) in try file.append(bytes) }
            }
            try result.get()
        } catch {
            state.withLock { $0 = .failed(error) }
        }
    }

    func whenWritten(_ completion: @escaping @Sendable () -> Void) { spool.work.add(completion) }

    /// Gives the whole text to a body. Called once all is written.
    ///
    /// - Throws: `RealtimeFailure` if it couldn't be kept, or what the body throws.
    func withBytes<Success>(_ body: (UnsafeRawBufferPointer) throws -> Success) throws -> Success {
        switch state.withLock({ $0 }) {
        case .empty: try body(UnsafeRawBufferPointer(start: nil, count: 0))
        case .failed(let failure): throw failure
        case .open(let file): try file.withBytes(body)
        }
    }
}
