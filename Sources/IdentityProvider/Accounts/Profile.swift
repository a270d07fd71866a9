import UserStore

/// The names and pictures of users.
enum Profile {
    private static let maxNameCharacters = 1000
    private static let maxURLCharacters = 4096

    /// - Throws: an ``IdentityToolkitError`` if a text is longer than a profile may have.
    static func check(name: String?, photoURL: String?) throws(IdentityToolkitError) {
        try require(
            (name?.utf16.count ?? 0) <= maxNameCharacters,
            "INVALID_ARGUMENT : displayName has more than \(maxNameCharacters) characters.")
        try require(
            (photoURL?.utf16.count ?? 0) <= maxURLCharacters,
            "INVALID_ARGUMENT : photoUrl has more than \(maxURLCharacters) characters.")
    }

    static func check(uid: String) throws(IdentityToolkitError) {
        try require(
            (1...128).contains(uid.utf16.count), "INVALID_LOCAL_ID : A user id has 1 to 128 characters.")
    }
}
