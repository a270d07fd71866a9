import FunctionsRuntime

/// Functions that manage users.
struct UserFixtures: FunctionBundle {
    struct Invitation: Codable, Sendable {
        var email: String
        var team: String
        /// Whether the user is changed by someone else meanwhile, once.
        var isDisturbed = false
    }

    var functions: [Function] {
        onCall("makeStaff") { (request: CallableRequest<String>) in
            do {
                let user = try await request.users.get(email: request.data)
                try await request.users.setCustomClaims(["staff": true], for: user.uid)
            } catch let error as AuthError where error.code == .userNotFound {
                throw HttpsError(.notFound, "There is no such user.")
            }
        }
        // Users and documents in one transaction.
        onCall("invite") { (request: CallableRequest<Invitation>, transaction: Transaction) in
            let team = transaction.firestore.document("teams/\(request.data.team)")
            let members = try await transaction.getDocument(team).get("members")
            let user = try await transaction.users.get(email: request.data.email)
            if request.data.isDisturbed, user.displayName == nil {
                _ = try await request.users.update(user.uid) { $0.displayName = "Disturbed" }
            }
            let guest = try transaction.users.create(
                UserCreation(email: "guest-of-\(request.data.email)", password: "secret1", displayName: "Guest"))
            try transaction.users.setCustomClaims(["team": .string(request.data.team)], for: user.uid)
            let count = if case .integer(let count)? = members { count } else { Int64(0) }
            try transaction.setData(["members": count + 1, "last": user.displayName ?? ""], forDocument: team)
            guard request.data.team != "full" else { throw HttpsError(.resourceExhausted, "The team is full.") }
            return guest
        }
        onCall("misuse") { (request: CallableRequest<String>, transaction: Transaction) in
            switch request.data {
            case "readAfterWrite":
                try transaction.users.disable("ada")
                _ = try await transaction.users.get("ada")
            case "documentAfterWrite":
                try transaction.users.disable("ada")
                _ = try await transaction.getDocument(transaction.firestore.document("a/b"))
            default:
                _ = try await transaction.firestore.runTransaction(.readOnly()) { inner in
                    try await inner.users.get("ada")
                }
            }
        }
        onUserCreated("welcome", .retry()) { event, transaction in
            try transaction.setData(
                ["email": event.data.email ?? ""],
                forDocument: transaction.firestore.document("welcomes/\(event.data.uid)"))
        }
        onUserDeleted("goodbye", .retry()) { event, transaction in
            try transaction.setData(
                ["name": event.data.displayName ?? ""],
                forDocument: transaction.firestore.document("farewells/\(event.data.uid)"))
        }
    }
}
