import DocumentModel
import NIOCore
import Testing

@testable import FunctionsRuntime

struct RecallTests {
    private func invocation(_ text: String) -> WorkerInvocation {
        WorkerInvocation(
            id: 1, body: ByteBuffer(string: text), database: DatabaseID(project: "demo-shop"),
            // Nothing is written by what never begins.
            writer: LinkWriter(descriptor: -1))
    }

    @Test func whatHasNotBegunIsGivenBackOnceWithItsBody() {
        let invocation = invocation("the body")
        #expect(invocation.recall() == ByteBuffer(string: "the body"))
        #expect(invocation.recall() == nil)
        #expect(!invocation.begin())
    }

    @Test func whatHasBegunIsNot() {
        let invocation = invocation("the body")
        #expect(invocation.begin())
        #expect(!invocation.begin())
        #expect(invocation.recall() == nil)
    }

    /// Whichever comes first: the handler begins, or the invocation is given back, and never both.
    @Test func oneOfTheTwoWins() async {
        for _ in 0..<1000 {
            let invocation = invocation("the body")
            async let began = Task { invocation.begin() }.value
            async let returned = Task { invocation.recall() != nil }.value
            let (hasBegun, wasReturned) = await (began, returned)
            #expect(hasBegun != wasReturned)
        }
    }
}
