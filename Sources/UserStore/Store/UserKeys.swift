import DocumentModel
import StorageEngine

/// The keys of the table of users: what a row is, then what identifies it.
enum UserKeys {
    enum Kind: UInt8, CaseIterable {
        /// A user, by uid.
        case user = 1
        /// The uid of the user with an email address.
        case email
        /// Empty, by the email address of an identity and the uid.
        case identityEmail
        /// The uid of the user with a phone number.
        case phone
        /// The uid of the user with an identity, by provider and raw id.
        case identity
        /// A refresh token, by its hash.
        case refreshToken
        /// Empty, by uid, time of issue and hash.
        case tokenOfUser
        /// A one-time code, by the hash of its text.
        case code
        /// Empty, by the time at which a code is removed, and its hash.
        case expiry
        /// Failed attempts, by account or address.
        case attempts
        /// A part of the project's settings, by name.
        case setting
        /// A message, by the hash of its subject.
        case message
        /// Empty, by the time at which a mail is due, and its subject's hash.
        case mailDue
        /// The number of messages that wait to be sent; missing for 0. There is one such row.
        case waitingMessages
        /// When a consumed App Check token expires, by its hash.
        case consumed
        /// Empty, by time of expiry and hash of a consumed token.
        case consumedExpiry
        /// As ``mailDue``, for text messages.
        case textDue
    }

    static func due(_ lane: OutgoingMessage.Lane) -> Kind { lane == .mail ? .mailDue : .textDue }

    static func all(_ kind: Kind) -> KeyRange { KeyRange(prefix: [kind.rawValue]) }

    static func user(_ uid: String) -> [UInt8] { key(.user, uid) }
    static func email(_ email: String) -> [UInt8] { key(.email, email) }
    static func phone(_ number: String) -> [UInt8] { key(.phone, number) }
    static func attempts(_ subject: String) -> [UInt8] { key(.attempts, subject) }
    static func setting(_ name: String) -> [UInt8] { key(.setting, name) }
    static func refreshToken(_ hash: [UInt8]) -> [UInt8] { [Kind.refreshToken.rawValue] + hash }
    static func code(_ hash: [UInt8]) -> [UInt8] { [Kind.code.rawValue] + hash }

    static func message(_ subject: [UInt8]) -> [UInt8] { [Kind.message.rawValue] + subject }
    static let waitingMessages = [Kind.waitingMessages.rawValue]

    static func messageDue(_ subject: [UInt8], _ lane: OutgoingMessage.Lane, at time: Int64) -> [UInt8] {
        var key = [due(lane).rawValue]
        KeyBytes.append(UInt64(clamping: time), to: &key)
        return key + subject
    }

    /// The value of ``waitingMessages``.
    static func stored(count: Int) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 4)
        writer.write(count: count)
        return writer.bytes
    }

    /// When the message of a key of ``Kind/mailDue`` or ``Kind/textDue`` is due.
    static func dueTime(in key: [UInt8]) -> Int64 {
        Int64(clamping: key.dropFirst().prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    static func identity(_ provider: String, _ rawID: String) -> [UInt8] {
        var key = [Kind.identity.rawValue]
        KeyBytes.append(provider.utf8, to: &key)
        key += rawID.utf8
        return key
    }

    static func identityEmails(_ email: String) -> [UInt8] {
        var key = [Kind.identityEmail.rawValue]
        KeyBytes.append(email.utf8, to: &key)
        return key
    }

    static func identityEmail(_ email: String, of uid: String) -> [UInt8] { identityEmails(email) + uid.utf8 }

    static func tokens(of uid: String) -> [UInt8] {
        var key = [Kind.tokenOfUser.rawValue]
        KeyBytes.append(uid.utf8, to: &key)
        return key
    }

    static func token(_ hash: [UInt8], of uid: String, issuedAt: Int64) -> [UInt8] {
        var key = tokens(of: uid)
        KeyBytes.append(UInt64(clamping: issuedAt), to: &key)
        return key + hash
    }

    static func expiry(_ hash: [UInt8], at time: Int64) -> [UInt8] {
        var key = [Kind.expiry.rawValue]
        KeyBytes.append(UInt64(clamping: time), to: &key)
        return key + hash
    }

    /// The codes that are due to be removed at a time.
    static func expired(at time: Int64) -> KeyRange {
        KeyRange(lower: [Kind.expiry.rawValue], upper: expiry([], at: time))
    }

    static func consumed(_ hash: [UInt8]) -> [UInt8] { [Kind.consumed.rawValue] + hash }

    static func consumedExpiry(_ hash: [UInt8], at time: Int64) -> [UInt8] {
        var key = [Kind.consumedExpiry.rawValue]
        KeyBytes.append(UInt64(clamping: time), to: &key)
        return key + hash
    }

    /// The consumed tokens that have expired at a time.
    static func consumedAndExpired(at time: Int64) -> KeyRange {
        KeyRange(lower: [Kind.consumedExpiry.rawValue], upper: consumedExpiry([], at: time))
    }

    static let hashBytes = 32

    /// The hash at the end of a key.
    static func hash(in key: [UInt8]) -> [UInt8] { Array(key.suffix(hashBytes)) }

    /// The text at the end of a key that has nothing else.
    static func text(in key: [UInt8]) -> String { String(decoding: key.dropFirst(), as: UTF8.self) }

    private static func key(_ kind: Kind, _ text: String) -> [UInt8] { [kind.rawValue] + text.utf8 }
}
