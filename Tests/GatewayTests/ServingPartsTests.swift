@testable import Gateway
import Testing
import WorkerProtocol

@Suite struct ServingPartsTests {
    /// A worker refuses to start with more links than it knows.
    @Test(arguments: [(1, 1), (2, 1), (8, 4), (128, 64), (130, 64), (1_024, 64)])
    func thereAreNoMoreLoopsThanAWorkerHasLinks(processors: Int, loops: Int) {
        #expect(ServingParts.loopCount(processors: processors) == loops)
        #expect(loops <= WorkerEnvironment.maxLinks)
    }
}
