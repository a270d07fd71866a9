import Testing

@testable import IdentityProvider

@Suite struct SignInRouteTests {
    @Test(arguments: [
        ("POST", "/identitytoolkit.googleapis.com/v1/accounts:signUp", SignInRoute.operation(.signUp, project: nil)),
        (
            "POST", "/www.googleapis.com/identitytoolkit/v3/relyingparty/verifyPassword",
            .operation(.signInWithPassword, project: nil)
        ),
        (
            "POST", "/www.googleapis.com/identitytoolkit/v3/relyingparty/uploadAccount",
            .operation(.batchCreate, project: nil)
        ),
        (
            "GET", "/www.googleapis.com/identitytoolkit/v3/relyingparty/getProjectConfig",
            .operation(.projects, project: nil)
        ),
        (
            "POST", "/identitytoolkit.googleapis.com/v2/accounts/mfaSignIn:finalize",
            .operation(.finishSecondFactor, project: nil)
        ),
        ("POST", "/identitytoolkit.googleapis.com/v2/accounts:revokeToken", .operation(.revokeToken, project: nil)),
        ("GET", "/identitytoolkit.googleapis.com/v2/passwordPolicy", .operation(.passwordPolicy, project: nil)),
        ("POST", "/identitytoolkit.googleapis.com/v1/projects/p/accounts", .operation(.signUp, project: "p")),
        (
            "POST", "/identitytoolkit.googleapis.com/v1/projects/p/accounts:batchCreate",
            .operation(.batchCreate, project: "p")
        ),
        ("GET", "/identitytoolkit.googleapis.com/v1/projects/p/accounts:batchGet", .operation(.batchGet, project: "p")),
        (
            "POST", "/identitytoolkit.googleapis.com/v1/projects/p:createSessionCookie",
            .operation(.createSessionCookie, project: "p")
        ),
        (
            "POST", "/identitytoolkit.googleapis.com/v1/projects/p/:createSessionCookie",
            .operation(.createSessionCookie, project: "p")
        ),
        ("PATCH", "/identitytoolkit.googleapis.com/v2/projects/p/config", .operation(.updateConfig, project: "p")),
        ("POST", "/identitytoolkit.googleapis.com/v2/projects/p/tenants", .tenant),
        ("POST", "/identitytoolkit.googleapis.com/v1/projects/p/tenants/t/accounts:lookup", .tenant),
        ("POST", "/identitytoolkit.googleapis.com/v2/projects/p/inboundSamlConfigs", .saml),
        ("GET", "/identitytoolkit.googleapis.com/v2/projects/p/inboundSamlConfigs/saml.x", .saml),
        ("POST", "/securetoken.googleapis.com/v1/token", .token),
        ("GET", "/www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com", .certificates),
        ("GET", "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com", .certificates),
        ("GET", "/.well-known/jwks.json", .webKeys), ("GET", "/emulator/action", .page(.action)),
        ("GET", "/emulator/auth/handler", .page(.handler)), ("GET", "/emulator/auth/iframe", .page(.iframe)),
        ("DELETE", "/emulator/v1/projects/p/accounts", .helper(.deleteUsers, project: "p")),
        ("PATCH", "/emulator/v1/projects/p/config", .helper(.updateConfig, project: "p")),
    ]) func pathsOfGoogleAndOfTheEmulatorAreKnown(method: String, path: String, route: SignInRoute) {
        #expect(SignInRoute(method: method, path: path) == route)
    }

    @Test(arguments: [
        ("GET", "/"), ("GET", ""), ("GET", "/identitytoolkit.googleapis.com/v1/accounts:signUp"),
        ("POST", "/identitytoolkit.googleapis.com/v9/accounts:signUp"),
        ("POST", "/identitytoolkit.googleapis.com/v1/accounts:batchCreate"),
        ("POST", "/identitytoolkit.googleapis.com/v1/accounts:startEnrollment"),
        ("POST", "/identitytoolkit.googleapis.com/v1/accounts:"),
        ("POST", "/identitytoolkit.googleapis.com/v1/projects"),
        ("POST", "/identitytoolkit.googleapis.com/v1/projects/p/accounts:fly"),
        ("POST", "/identitytoolkit.googleapis.com/v1/projects/p/accounts:lookup/more"),
        ("DELETE", "/emulator/v1/projects/p/oobCodes"),
        ("POST", "/www.googleapis.com/identitytoolkit/v3/relyingparty/fly"),
    ]) func otherPathsAreUnknown(method: String, path: String) {
        #expect(SignInRoute(method: method, path: path) == nil)
    }

    @Test(arguments: [
        ("Ada@Example.COM", "ada@example.com"), ("a+b@c", "a+b@c"), ("nomail", nil), ("@c", nil), ("a@", nil),
        ("a@b@c", nil), ("a b@c", nil), ("a@c\n", nil), ("", nil),
        // The Kelvin sign, and a letter with its accent apart: they would become, or equal, those of other addresses.
        ("mi\u{212A}e@c", nil), ("e\u{301}@c", nil), ("\u{E9}@c", "\u{E9}@c"), ("\u{C9}@c", "\u{C9}@c"),
        // A capital that has no composed form, and a mark that makes one character with the sign.
        ("J\u{30C}ane@c", nil), ("a\u{600}@b@c", nil),
    ]) func addressesAreKeptInLowerCase(text: String, expected: String?) {
        #expect(Contact.email(text) == expected)
    }

    @Test(arguments: [
        ("+49 151 123-45678", "+4915112345678"), ("+1 (650) 555.1234", "+16505551234"), ("0312345678", nil),
        ("+12", nil),
        ("+1234567890123456", nil), ("+12345x", nil), ("", nil),
    ]) func numbersAreKeptInTheInternationalForm(text: String, expected: String?) {
        #expect(Contact.phoneNumber(text) == expected)
    }

    @Test func namesInSnakeCaseAndNumbersForTextsAreTheSame() throws {
        let json =
            #"{"id_token":"a","validSince":7,"flag":"true","none":null,"requestType":6,"list":["x",1],"m":{"in_ner":1}}"#
        let request = try SignInRequest(json: Array(json.utf8))
        #expect(request["idToken"] == "a")
        #expect(request["validSince"] == "7")
        #expect(request.integer("validSince") == 7)
        #expect(request.flag("flag") == true)
        #expect(!request.has("none"))
        #expect(request.choice("requestType", Array("abcdefg").map(String.init)) == "g")
        // By numbers, as elements of enums are named.
        #expect(request.texts("list") == ["x", "1"])
        #expect(request.message("m")?["inNer"] == "1")
        #expect(request.message("list") == nil)
    }
}
