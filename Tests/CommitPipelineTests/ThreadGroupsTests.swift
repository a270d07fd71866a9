import CommitPipeline
import Sharing
import TestSupport
import Testing

struct ThreadGroupsTests {
    /// As at a limit of the processes of a user or a container. No machine has room for its stack.
    @Test(.endsHangs) func aRefusedThreadIsReportedAndNotWaitedFor() async throws {
        var groups = ThreadGroups()
        try groups.start("group") {}
        do throws(SystemThread.Refused) {
            try groups.start("group", stackSize: 1 << 50) { Issue.record("it ran") }
            Issue.record("it was started")
        } catch {
            #expect(error.description.hasPrefix("the thread group can't be started: "))
        }
        await groups.end(of: "group").wait()
    }
}
