import DocumentModel
package import StrictJSON
import TextFormats

/// The files that `users export` writes: those of `firebase auth:export`, and those of the emulators.
package struct UserFile {
    package enum Format: String, Sendable, CaseIterable {
        case json, csv
        /// A directory, as `firebase emulators:export` writes it.
        case emulator
    }

    /// What `firebase auth:import` refuses, and an export for it leaves out.
    package struct Omissions: Hashable, Sendable {
        /// Passwords that were hashed in another way than new ones are.
        package var passwords = 0
        /// Accounts at providers that the format doesn't know.
        package var accounts = 0
        /// Second factors: authenticator apps, and all of them in CSV.
        package var secondFactors = 0

        package var isEmpty: Bool { self == Omissions() }
    }

    private let format: Format
    /// Whether users have all of their fields.
    private let isWhole: Bool
    /// The parameters of new hashes, which the file names once.
    private let scheme: JSONObject
    private var isFirst = true
    package private(set) var omissions = Omissions()
    package private(set) var count = 0

    /// - Parameter scheme: the parameters of new hashes.
    package init(_ format: Format, isWhole: Bool, scheme: JSONObject) {
        self.format = format
        self.isWhole = isWhole || format == .emulator
        self.scheme = scheme
    }

    /// What the file begins with.
    package func beginning() throws -> [UInt8] {
        switch format {
        case .csv: []
        case .json:
            Array("{\"hash\":".utf8) + (try JSONValue.object(scheme).serialized()) + Array(",\"users\":[\n".utf8)
        case .emulator: Array("{\"kind\":\"identitytoolkit#DownloadAccountResponse\",\"users\":[\n".utf8)
        }
    }

    package var end: [UInt8] { format == .csv ? [] : Array("\n]}\n".utf8) }

    /// - Parameter line: a user as data exports have it; nil is returned for their other lines.
    package mutating func text(of line: [UInt8]) throws -> [UInt8]? {
        guard line.starts(with: "{\"user\":".utf8), let user = try JSONValue(parsing: line)["user"]?.objectValue else {
            return nil
        }
        count += 1
        if format == .csv { return Array((row(try forFirebase(user))).utf8) }
        let separator = Array((isFirst ? "" : ",\n").utf8)
        isFirst = false
        return separator + (try JSONValue.object(isWhole ? user : try forFirebase(user)).serialized())
    }

    // MARK: Fields

    /// In their order.
    private static let fields = [
        "localId", "email", "emailVerified", "passwordHash", "salt", "displayName", "photoUrl", "lastLoginAt",
        "createdAt", "phoneNumber", "disabled", "customAttributes", "mfaInfo",
    ]
    private static let accountFields = ["providerId", "rawId", "email", "displayName", "photoUrl"]

    private mutating func forFirebase(_ user: JSONObject) throws -> JSONObject {
        var json = JSONObject()
        for name in Self.fields { json[name == "lastLoginAt" ? "lastSignedInAt" : name] = user[name] }
        if user["passwordHash"] != nil, user["hash"]?.objectValue != scheme {
            omissions.passwords += 1
            json["passwordHash"] = nil
            json["salt"] = nil
        }
        for name in ["passwordHash", "salt"] {
            guard let bytes = json[name]?.stringValue.flatMap({ Base64.decodeAnyAlphabet($0) }) else { continue }
            json[name] = .string(Base64.encode(bytes))
        }
        if case .array(let factors)? = json["mfaInfo"] {
            let phones = format == .csv ? [] : factors.filter { $0["totpInfo"] == nil }
            omissions.secondFactors += factors.count - phones.count
            json["mfaInfo"] = phones.isEmpty ? nil : .array(phones)
        }
        if case .array(let accounts)? = user["providerUserInfo"] {
            let known = accounts.filter { account in
                let id = account["providerId"]?.stringValue ?? ""
                if UserTableReader.providers.contains(where: { $0.id == id }) { return true }
                // These two follow from the email address and the phone number.
                if id != "password", id != "phone" { omissions.accounts += 1 }
                return false
            }
            json["providerUserInfo"] = .array(
                known.map { account in
                    var picked = JSONObject()
                    for name in Self.accountFields { picked[name] = account[name] }
                    return .object(picked)
                })
        }
        return json
    }

    private func row(_ user: JSONObject) -> String {
        var row = [String](repeating: "", count: UserTableReader.columns)
        for (name, column) in UserTableReader.texts { row[column] = Self.quoted(user[name]?.stringValue ?? "") }
        for (name, column) in UserTableReader.flags { row[column] = user[name] == true ? "true" : "false" }
        if case .array(let accounts)? = user["providerUserInfo"] {
            for account in accounts {
                guard let place = UserTableReader.providers.first(where: { account["providerId"] == .string($0.id) })
                else { continue }
                for (offset, name) in Self.accountFields.dropFirst().enumerated() {
                    row[place.column + offset] = Self.quoted(account[name]?.stringValue ?? "")
                }
            }
        }
        return row.joined(separator: ",") + ",\n"
    }

    static func quoted(_ text: String) -> String {
        // Blanks around a field without quotes aren't a part of it.
        let hasBlanks = text.first?.isWhitespace == true || text.last?.isWhitespace == true
        guard hasBlanks || text.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return text }
        // Not by characters: with a mark beside it, a quote is a part of another one.
        return "\""
            + text.utf8.split(separator: 0x22, omittingEmptySubsequences: false).map { String(Substring($0)) }
            .joined(separator: "\"\"") + "\""
    }
}

extension UserFile {
    /// The options by which `firebase auth:import` reads the passwords of the file.
    package static func firebaseOptions(_ scheme: JSONObject) -> String {
        func number(_ name: String) -> String { scheme[name]?.intValue.map(String.init) ?? "" }
        return "--hash-algo=STANDARD_SCRYPT --mem-cost=\(number("cpuMemCost")) --block-size=\(number("blockSize")) "
            + "--parallelization=\(number("parallelization")) --dk-len=\(number("dkLen"))"
    }
}
