import CFunctionsSystem
import Sharing
import TestSupport
import Testing

struct LongWorkTests {
    @Test(.endsHangs) func longWorkCountsItsSteps() async {
        let left = await withCheckedContinuation { continuation in
            LongWork("test").add {
                var left = [functions_steps_left()]
                functions_step()
                left.append(functions_steps_left())
                while functions_steps_left() > 1 { functions_step() }
                functions_step()
                left.append(functions_steps_left())
                continuation.resume(returning: left)
            }
        }
        #expect(left == [512, 511, 512])
    }

    @Test func otherWorkDoesNot() {
        for _ in 0..<1000 { functions_step() }
        #expect(functions_steps_left() == 0)
    }
}
