import FunctionsRuntime

/// Functions that are notified of users. Each counts its events in a document of the user.
extension FixtureFunctions {
    private static let soon = Retry.exponential(from: .milliseconds(10), to: .seconds(1))

    /// Act by the domain of the user's address.
    @FunctionsBuilder var userChecks: [Function] {
        beforeUserCreated("checkUser", .timeout(.seconds(7)), .maxInstances(2)) { event in
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

    /// Manage users, each in one way.
    @FunctionsBuilder var userManagers: [Function] {
        onCall("createUser") { (request: CallableRequest<NewUser>) in
            do {
                let user = try await request.users.create(
                    UserCreation(
                        uid: request.data.uid, email: request.data.email, password: request.data.password,
                        displayName: request.data.name))
                try await request.users.setCustomClaims(["staff": true], for: user.uid)
                return try await request.users.get(email: request.data.email).uid
            } catch let error as AuthError {
                throw HttpsError(.failedPrecondition, error.code.rawValue)
            }
        }
        onCall("userTokens") { (request: CallableRequest<String>) in
            let user = try await request.users.get(request.data)
            return [
                "token": try await request.users.customToken(for: user.uid, claims: ["first_name": "Ada"]),
                "link": try await request.users.passwordResetLink(for: user.email ?? ""),
                "count": "\(try await request.users.list().users.count)",
                "staff": "\(user.customClaims["staff"] == true)",
            ]
        }
        onCall("removeUser") { (request: CallableRequest<String>) in
            try await request.users.disable(request.data)
            try await request.users.delete(request.data)
        }
        onCall("moveUser") { (request: CallableRequest<Move>, transaction: Transaction) in
            let user = try await transaction.users.get(request.data.uid)
            let team = transaction.firestore.document("teams/\(request.data.team)")
            let members = try await transaction.getDocument(team)["members"]
            if request.data.isDisturbed, user.displayName != "Disturbed" {
                _ = try await request.users.update(user.uid) { $0.displayName = "Disturbed" }
            }
            let count = if case .integer(let count)? = members { count + 1 } else { Int64(1) }
            try transaction.users.setCustomClaims(["team": .string(request.data.team)], for: user.uid)
            let guest = try transaction.users.create(UserCreation(displayName: "Guest"))
            try transaction.setData(["members": count, "name": user.displayName ?? ""], forDocument: team)
            if request.data.fails { throw HttpsError(.aborted, "on purpose") }
            return guest
        }
    }

    struct NewUser: Decodable, Sendable {
        var uid: String?
        var email: String
        var password: String
        var name: String?
    }

    struct Move: Decodable, Sendable {
        var uid: String
        var team: String
        var isDisturbed: Bool
        var fails: Bool
    }
}
