@testable import Workers
import Testing

struct WorkerEndTests {
    private func end(
        _ outcome: ProcessStatus.Outcome, residentMiB: Int64, hostResidentMiB: Int64 = 40
    ) -> WorkerEnd {
        let status = ProcessStatus(outcome: outcome, cpuMicroseconds: 1, maxResidentKiB: residentMiB << 10)
        return .memory(
            of: status,
            limits: WorkerLimits(memory: 128 << 20), hostResidentKiB: hostResidentMiB << 10)
            ?? .crash(status)
    }

    @Test func aTrapFarBeyondItsMemoryIsItsMemorysEnd() {
        #expect(end(.signalled(5), residentMiB: 1300) == .memory(used: 1300 << 20, limit: 128 << 20))
    }

    @Test func anyOtherEndIsACrash() {
        // Programs and libraries count in a resident size.
        #expect(end(.signalled(5), residentMiB: 180).kind == "crash")
        #expect(end(.exited(1), residentMiB: 1300).kind == "crash")
        // Its own size isn't known where the host's was larger.
        #expect(end(.signalled(5), residentMiB: 400, hostResidentMiB: 400).kind == "crash")
    }
}
