import FunctionsRuntime

/// Functions that are notified of users. Each counts its events in a document of the user.
extension FixtureFunctions {
    private static let soon = Retry.exponential(from: .milliseconds(10), to: .seconds(1))

    /// Act by the domain of the user's address.
    @FunctionsBuilder var userChecks: [Function] {
        beforeUserCreated("checkUser", .timeout(.seconds(2)), .maxInstances(2)) { event in
            switch event.data.email?.split(separator: "@").last {
            case "refused.example":
                throw HttpsError(
                    .permissionDenied, "not today", details: ["why": event.additionalUserInfo?.signInMethod])
            case "failing.example": throw CancellationError()
            case "trapping.example": fatalError("on purpose")
            case "slow.example":
                try? await Task.sleep(for: .seconds(60))
                return nil
            case "changed.example":
                return BeforeCreateResponse(displayName: "By Function", customClaims: ["vip": true])
            case "disabled.example": return BeforeCreateResponse(disabled: true)
            case "forbidden.example": return BeforeCreateResponse(customClaims: ["sub": "forged"])
            default: return nil
            }
        }
        beforeUserSignedIn("checkSignIn", .maxInstances(2)) { event in
            switch event.data.email?.split(separator: "@").last {
            case "locked.example": throw HttpsError(.resourceExhausted, "locked")
            case "changed.example":
                return BeforeSignInResponse(sessionClaims: ["once": 1, "from": .string(event.ipAddress)])
            default: return nil
            }
        }
        beforeEmailSent("checkMail") { event in
            if event.data.email?.hasSuffix("@nomail.example") == true {
                throw HttpsError(.permissionDenied, event.emailType ?? "")
            }
        }
    }

    @FunctionsBuilder var userListeners: [Function] {
        onUserCreated("welcomeUser", .retry(Self.soon)) { event, transaction in
            try transaction.setData(
                [
                    "n": FieldValue.increment(1), "email": event.data.email ?? "", "source": event.source,
                    "authType": event.auth.type.rawValue,
                ], forDocument: transaction.firestore.document("welcomes/\(event.data.uid)"), merge: true)
        }
        onUserDeleted("forgetUser", .retry(Self.soon)) { event, transaction in
            try transaction.setData(
                ["n": FieldValue.increment(1), "name": event.data.displayName ?? ""],
                forDocument: transaction.firestore.document("farewells/\(event.data.uid)"), merge: true)
        }
    }
}
