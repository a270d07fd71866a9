import Sharing
import Synchronization

/// The open calls of all connections, each counted for its client's address.
final class OpenCalls: Sendable {
    private let limits: ClientLimits.GRPC
    private let open = Mutex<(all: Int, byAddress: [UInt64: Int])>((0, [:]))

    init(_ limits: ClientLimits.GRPC) { self.limits = limits }

    /// - Returns: false if too many are open; the call isn't counted then.
    func add(of address: UInt64) -> Bool {
        open.withLock { open in
            guard open.all < limits.calls, open.byAddress[address] ?? 0 < limits.callsPerClient else { return false }
            open.all += 1
            open.byAddress[address, default: 0] += 1
            return true
        }
    }

    func remove(of address: UInt64) {
        open.withLock { open in
            open.all -= 1
            let left = (open.byAddress[address] ?? 1) - 1
            open.byAddress[address] = left == 0 ? nil : left
        }
    }
}
