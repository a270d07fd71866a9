import FunctionsRuntime

/// Masks blocked words in messages, and writes those that shout in lower case.
enum Moderation {
    private static let blockedWords: Set<String> = ["darn", "heck"]
    /// Shorter texts are taken for abbreviations.
    private static let shortestShout = 6

    /// Changes a new message if it has to be changed. That isn't another creation, so it causes no event of `moderate`.
    static func moderate(_ message: Message, at reference: DatabaseReference, in transaction: Transaction) async throws
    {
        let text = clean(message.text)
        guard text != message.text else { return }
        // A message that was deleted since would otherwise exist again.
        let current = try await transaction.database.getData(reference.child("text"))
        guard current.value?.stringValue == message.text else { return }
        try transaction.database.updateChildValues(["text": .string(text), "moderated": true], at: reference)
    }

    /// The text as others may read it. A cleaned text stays as it is.
    static func clean(_ text: String) -> String {
        let masked = text.replacing(/\p{L}+/) { word in
            blockedWords.contains(word.output.lowercased())
                ? String(repeating: "*", count: word.output.count) : String(word.output)
        }
        return isShouted(masked) ? masked.prefix(1) + masked.dropFirst().lowercased() : masked
    }

    private static func isShouted(_ text: String) -> Bool {
        let letters = text.filter(\.isLetter)
        return letters.count >= shortestShout && letters.allSatisfy(\.isUppercase)
    }
}
