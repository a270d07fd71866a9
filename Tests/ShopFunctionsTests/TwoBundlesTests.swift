import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ShopFunctions
@testable import StandaloneFunctions

/// Two programs, each with an entry point of its own, in one test.
struct TwoBundlesTests {
    @Test func bothProgramsAreTestedTogether() async throws {
        let tester = try FunctionsTester(
            ShopFunctions(), StandaloneFunctions(), params: ["GREETING": "Good day"], secrets: ["API_KEY": "sesame"])
        let hello: String = try await tester.call("hello", "Ada")
        #expect(hello == "Good day, Ada, 10 times")
        await #expect(throws: HttpsError.self) {
            let _: Purchase.Answer = try await tester.call("purchase", as: .user("ada"))
        }
    }
}
