/// `status/{uid}`, in the Realtime Database and as a document.
struct Presence: Codable, Equatable, Sendable {
    enum State: String, Codable, Sendable { case online, offline }

    var state: State
    /// In milliseconds since 1970.
    var lastChanged: Int
}

/// `rooms/{room}/messages/{message}` in the Realtime Database.
struct Message: Codable, Equatable, Sendable {
    var text: String
    /// The author's user id.
    var author: String
    /// In milliseconds since 1970.
    var sent: Int
    /// Whether `moderate` has changed the text.
    var moderated: Bool?
}
