/// The two names that a field has in Google's APIs: as in the .proto file, `page_size`, and as in JSON, `pageSize`.
package enum ProtoNames {
    /// The name as in JSON; one that is already so stays.
    package static func camelCase(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        return words.dropFirst().reduce(into: String(words[0])) { text, word in
            text += word.prefix(1).uppercased()
            text += word.dropFirst()
        }
    }
}
