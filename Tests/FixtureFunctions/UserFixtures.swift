import FunctionsRuntime

/// Functions that are notified of users. Each counts its events in a document of the user.
extension FixtureFunctions {
    private static let soon = Retry.exponential(from: .milliseconds(10), to: .seconds(1))

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
