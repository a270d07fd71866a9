import FunctionsRuntime

/// The people who run the shop: users with the claim `staff`, and a list of them.
struct Staff {
    let users: TransactionUsers
    let transaction: Transaction

    init(in transaction: Transaction) {
        self.transaction = transaction
        users = transaction.users
    }

    /// The claim and the entry in the list are one commit, so that neither is there without the other.
    func appoint(email: String) async throws {
        let user: UserRecord
        do {
            user = try await users.get(email: email)
        } catch let error as AuthError where error.code == .userNotFound {
            throw HttpsError(.notFound, "Nobody has this address.")
        }
        guard user.emailVerified else {
            throw HttpsError(.failedPrecondition, "The address isn't verified yet.")
        }
        var claims = user.customClaims
        claims["staff"] = true
        try users.setCustomClaims(claims, for: user.uid)
        try transaction.setData(
            ["name": user.displayName ?? email, "since": FieldValue.serverTimestamp()],
            forDocument: transaction.firestore.document("staff/\(user.uid)"))
    }
}
