import Foundation
import TestSupport
import Testing

/// The caller that a function sees, and the callers that never reach it.
@Suite(.endsHangs) struct IdentityTests {
    /// A token as an emulator issues it: without a signature.
    static func unsigned(_ uid: String, project: String = "demo-shop", claims: String = "") -> String {
        func part(_ json: String) -> String {
            Data(json.utf8).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
        let payload =
            #"{"iss":"https://securetoken.google.com/\#(project)","aud":"\#(project)","sub":"\#(uid)","#
            + #""user_id":"\#(uid)","iat":0,"exp":3600,"auth_time":0\#(claims)}"#
        return part(#"{"alg":"none","typ":"JWT"}"#) + "." + part(payload) + "."
    }

    @Test func aSignedInCallerIsKnownByItsToken() async throws {
        try await RunningHost.serving { host in
            let user = try await SignedInUser.create(host)
            for scheme in ["Bearer", "bearer", "BEARER"] {
                let answer = try await host.call(
                    "whoami", "null",
                    headers: ["Authorization": "\(scheme) \(user.token)", "Firebase-Instance-ID-Token": "device-7"])
                #expect(answer.json["result"]?["uid"] == .string(user.uid))
                #expect(answer.json["result"]?["claims"]?["sub"] == .string(user.uid))
                #expect(answer.json["result"]?["instanceIDToken"] == .string("device-7"))
            }
            let nobody = try await host.call("whoami", "null")
            #expect(nobody.status == 200)
            #expect(nobody.json["result"]?["uid"]?.text == nil)
        }
    }

    @Test func aTamperedTokenNeverReachesAFunction() async throws {
        try await RunningHost.serving(extra: #""auth": { "signedTokens": true }"#) { host in
            let user = try await SignedInUser.create(host)
            let other = try await SignedInUser.create(host)
            let (mine, theirs) = (user.token.split(separator: "."), other.token.split(separator: "."))
            let forged = "\(mine[0]).\(theirs[1]).\(mine[2])"
            let wrongProject = Self.unsigned("u", project: "demo-other")
            for token in [forged, "\(mine[0]).\(mine[1]).", "\(mine[0]).\(mine[1])", wrongProject, "", "a.b.c"] {
                let answer = try await host.call("whoami", "null", headers: ["Authorization": "Bearer \(token)"])
                #expect(answer.status == 401, "\(token)")
                #expect(answer.text == CallableProtocolTests.unauthenticated)
            }
            #expect(!host.process.errors.contains(String(mine[2])), "a token is in the log")
        }
    }

    @Test func aPolicyDecidesBeforeTheHandler() async throws {
        try await RunningHost.serving { host in
            let member = try await host.call(
                "members", "null",
                headers: ["Authorization": "Bearer " + Self.unsigned("m", claims: #","member":true"#)])
            #expect(member.text == #"{"result":"welcome"}"#)
            for headers in [[:], ["Authorization": "Bearer " + Self.unsigned("m", claims: #","member":"true""#)]] {
                let answer = try await host.call("members", "null", headers: headers)
                #expect(answer.status == 403)
                #expect(answer.text == #"{"error":{"message":"Permission Denied","status":"PERMISSION_DENIED"}}"#)
            }
        }
    }

    @Test func appCheckCountsOnlyWhereAFunctionEnforcesIt() async throws {
        try await RunningHost.serving { host in
            for headers in [[:], ["X-Firebase-AppCheck": "nonsense"]] {
                let enforced = try await host.call("appOnly", "null", headers: headers)
                #expect(enforced.status == 401)
                #expect(enforced.text == CallableProtocolTests.unauthenticated)
                let free = try await host.call("whoami", "null", headers: headers)
                #expect(free.status == 200)
                #expect(free.json["result"]?["app"]?.text == nil)
            }
        }
    }

    @Test func aWorkerSeesItsOwnEnvironmentAndNotTheHosts() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call(
                "environment",
                #"["GCLOUD_PROJECT","K_SERVICE","FUNCTION_TARGET","TZ","FUNCTIONS_EMULATOR","FUNCTIONS_PRODUCTS","PWD"]"#
            )
            #expect(
                answer.json["result"]
                    == .array([
                        .string("demo-shop"), .string("environment"), .string("environment"), .string("UTC"),
                        .string("true"), .null, .null,
                    ]))
        }
    }
}
