import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ShopFunctions

@Suite struct StaffTests {
    private let shop: FunctionsTester
    private let owner = TestCaller.user("boss", claims: ["owner": true])

    init() throws { shop = try FunctionsTester(ShopFunctions()) }

    @Test func anOwnerAppointsUsersWithVerifiedAddresses() async throws {
        try await shop.users.create(
            UserCreation(uid: "ada", email: "ada@example.com", emailVerified: true, displayName: "Ada"))
        try await shop.users.setCustomClaims(["vip": true], for: "ada")
        let _: NoData = try await shop.call("appointStaff", "ada@example.com", as: owner)
        #expect(try await shop.users.get("ada").customClaims == ["vip": true, "staff": true])
        #expect(try await shop.firestore.document("staff/ada").getDocument()["name"] == .string("Ada"))
    }

    @Test func othersAreRefused() async throws {
        try await shop.users.create(UserCreation(uid: "eve", email: "eve@example.com"))
        for (email, caller, code) in [
            ("eve@example.com", owner, FunctionsErrorCode.failedPrecondition),
            ("unknown@example.com", owner, .notFound),
            ("eve@example.com", TestCaller.user("eve"), .permissionDenied),
        ] {
            let error = await #expect(throws: HttpsError.self) {
                let _: NoData = try await shop.call("appointStaff", email, as: caller)
            }
            #expect(error?.code == code)
        }
        #expect(try await shop.users.get("eve").customClaims.isEmpty)
        #expect(try await shop.firestore.document("staff/eve").getDocument().exists == false)
    }
}
