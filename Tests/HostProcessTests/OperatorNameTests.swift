@testable import HostProcess
import Testing

struct OperatorNameTests {
    @Test func aUserWithoutANameHasItsID() {
        #expect(OperatorName.of(name: "", id: 12345) == "12345")
        #expect(OperatorName.of(name: "shop", id: 12345) == "shop")
        #expect(!OperatorName.current.isEmpty)
    }
}
