import DocumentModel
import Logging
import StrictJSON
import UserStore

extension IdentityToolkit {
    static let maxBatch = 1000
    /// How many users one commit of a batch changes: others' commits wait for it.
    static let changedAtOnce = 50

    // MARK: Listing

    /// A page of all users, by uid.
    func listUsers(_ call: SignInCall) async throws -> JSONObject {
        let asked = (call.query["maxResults"] ?? call["maxResults"]).flatMap(Int.init) ?? 20
        let limit = min(max(asked, 1), Self.maxBatch)
        let last = call.query["nextPageToken"] ?? call["nextPageToken"]
        let users = try await listed(after: last.flatMap { $0.isEmpty ? nil : $0 }, limit: limit)
        var answer: JSONObject = ["kind": "identitytoolkit#DownloadAccountResponse"]
        if !users.isEmpty { answer["users"] = .array(users.map { .object($0.json(isWhole: true)) }) }
        if users.count == limit, let last = users.last { answer["nextPageToken"] = .string(last.uid) }
        return answer
    }

    /// Users in the order of their ids. Those who can't be read are left out, and named by the log.
    func listed(after last: String?, limit: Int) async throws -> [UserRecord] {
        let (found, damaged) = try await users.read(isLong: true) { reader in
            var damaged: [String] = []
            let found = try reader.users(after: last, limit: limit) { uid, _ in damaged.append(uid) }
            return (found, damaged)
        }
        for uid in damaged {
            logger.error(
                "a user can't be read and is left out of a list; see \"functions-host data check\"",
                metadata: ["uid": "\(uid)"])
        }
        return found
    }

    /// `accounts:query` without an expression: all users, up to 500, or their number. As with the emulator, it has no
    /// other order and no offset; a page that seemed to have one would be the first page again.
    func queryUsers(_ call: SignInCall) async throws -> JSONObject {
        try require(
            call.fields.messages("expression").isEmpty,
            "INVALID_ARGUMENT : Queries with an expression are not supported: look users up, or list them.")
        let sorting = [call.fields["sortBy"] ?? "USER_ID", call.fields["order"] ?? "ASC"]
        try require(
            ["USER_ID", "SORT_BY_FIELD_UNSPECIFIED"].contains(sorting[0])
                && ["ASC", "ORDER_UNSPECIFIED"].contains(sorting[1]) && call.fields.integer("offset") ?? 0 == 0,
            "INVALID_ARGUMENT : Queries are answered from the first user on, in the order of ids: list users to go on.")
        if call.fields.flag("returnUserInfo") == false {
            let count = try await users.read(isLong: true) { try $0.userCount() }
            return ["recordsCount": .string(String(count))]
        }
        let limit = min(max(Int(clamping: call.fields.integer("limit") ?? 500), 1), 500)
        let found = try await listed(after: nil, limit: limit)
        return [
            "recordsCount": .string(String(found.count)),
            "userInfo": .array(found.map { .object($0.json(isWhole: true)) }),
        ]
    }

    private static let damaged: JSONValue = "INTERNAL : The stored user can't be read, the store is damaged."

    // MARK: Deleting

    /// Deletes users, some at a time. If it fails, those before are deleted, and asking again goes on.
    func deleteBatch(_ call: SignInCall) async throws -> JSONObject {
        let uids = call.fields.texts("localIds")
        try require((1...Self.maxBatch).contains(uids.count), "LOCAL_ID_LIST_EXCEEDS_LIMIT")
        let isForced = call.fields.flag("force") == true
        var errors: [JSONValue] = []
        for start in stride(from: 0, to: uids.count, by: Self.changedAtOnce) {
            let part = uids[start..<min(start + Self.changedAtOnce, uids.count)]
            let refused = try await users.commit(in: call.context) { transaction in
                try part.indices.compactMap { index -> JSONValue? in
                    let uid = part[index]
                    let found: UserRecord?
                    do { found = try transaction.user(uid) } catch is DecodingFailure {
                        return [
                            "index": .integer(Int64(index)), "localId": .string(uid), "message": Self.damaged,
                        ]
                    }
                    guard let user = found else { return nil }
                    if user.isDisabled || isForced {
                        try transaction.delete(uid)
                        return nil
                    }
                    return [
                        "index": .integer(Int64(index)), "localId": .string(uid),
                        "message": "NOT_DISABLED : Disable the account before batch deletion.",
                    ]
                }
            }
            errors += refused
        }
        return errors.isEmpty ? [:] : ["errors": .array(errors)]
    }

    // MARK: Importing

    /// Stores users with what they had elsewhere, their passwords' hashes among it. Some at a time: if it fails, those
    /// before are stored.
    func importUsers(_ call: SignInCall) async throws -> JSONObject {
        let given = call.fields.messages("users")
        try require(!given.isEmpty, "MISSING_USER_ACCOUNT")
        try require(
            given.count <= Self.maxBatch, "INVALID_ARGUMENT : at most \(Self.maxBatch) users are imported at once.")
        let overwrites = call.fields.flag("allowOverwrite") == true
        let isChecked = call.fields.flag("sanityCheck") == true
        if isChecked { try Self.checkForDuplicates(given) }
        if !overwrites {
            var seen: Set<String> = []
            for fields in given {
                let uid = fields["localId"] ?? ""
                try require(seen.insert(uid).inserted, "DUPLICATE_LOCAL_ID : \(uid)")
            }
        }
        let scheme = try ImportedScheme(call.fields)
        let imports = try await imported(given, scheme, for: call.origin.network)
        var errors = try await store(imports, at: Array(imports.indices), overwriting: overwrites)
        if overwrites, imports.count > Self.changedAtOnce {
            // What they take may have become free by a later commit. A user who comes twice is as the last one says.
            let uids = Dictionary(given.map { ($0["localId"] ?? "", 1) }, uniquingKeysWith: +)
            let refused = errors.keys.filter { uids[given[$0]["localId"] ?? ""] == 1 }.sorted()
            for index in refused { errors[index] = nil }
            errors.merge(try await store(imports, at: refused, overwriting: true)) { $1 }
        }
        var answer: JSONObject = ["kind": "identitytoolkit#UploadAccountResponse"]
        if !errors.isEmpty {
            answer["error"] = .array(
                errors.sorted { $0.key < $1.key }.map { error -> JSONValue in
                    ["index": .integer(Int64(error.key)), "message": error.value]
                })
        }
        return answer
    }

    /// Stores some users of an import, a few at a time.
    ///
    /// - Returns: why the others can't be stored, by their indices.
    private func store(
        _ imports: [Result<ImportedUser, ImportProblem>], at indices: [Int], overwriting: Bool
    ) async throws -> [Int: JSONValue] {
        var errors: [Int: JSONValue] = [:]
        for start in stride(from: 0, to: indices.count, by: Self.changedAtOnce) {
            let part = Array(indices[start..<min(start + Self.changedAtOnce, indices.count)])
            // As with Google, functions learn of users who sign up, not of those who are moved.
            let refused = try await users.commit(in: OperationContext(firesEvents: false)) { transaction in
                try Self.store(imports, at: part, overwriting: overwriting, in: transaction)
            }
            errors.merge(refused) { $1 }
        }
        return errors
    }

    /// Those that are replaced may have exchanged what is unique. One that can't be stored stays as it is, and keeps
    /// that: then the others are stored once more, without it.
    private static func store(
        _ imports: [Result<ImportedUser, ImportProblem>], at indices: [Int], overwriting: Bool,
        in transaction: UserTransaction
    ) throws -> [Int: JSONValue] {
        var errors: [Int: JSONValue] = [:]
        func perform(_ index: Int, _ change: (ImportedUser) throws -> Void) throws {
            do { try change(imports[index].get()) } catch let problem as ImportProblem {
                errors[index] = .string(problem.message)
            } catch is DecodingFailure {
                // The one that it would replace is read before anything is changed.
                errors[index] = Self.damaged
            }
        }
        guard overwriting else {
            for index in indices { try perform(index) { try $0.store(overwriting: false, in: transaction) } }
            return errors
        }
        var left = indices
        var areStored = false
        while !areStored {
            let refused = errors.count
            areStored = try transaction.attempt {
                for index in left { try perform(index) { try $0.release(in: transaction) } }
                for index in left where errors.count == refused {
                    try perform(index) { try $0.store(overwriting: true, in: transaction) }
                }
                return errors.count == refused
            }
            left.removeAll { errors[$0] != nil }
        }
        return errors
    }

    private func imported(
        _ given: [SignInRequest], _ scheme: ImportedScheme, for address: String
    ) async throws -> [Result<ImportedUser, ImportProblem>] {
        var imports: [Result<ImportedUser, ImportProblem>] = []
        for fields in given {
            let hash = try await fields["rawPassword"].mapAsync { try await passwords.hash($0, for: address) }
            imports.append(
                Result { () throws(ImportProblem) in
                    try ImportedUser(fields, scheme: scheme, hash: hash, now: now())
                })
        }
        return imports
    }

    private static func checkForDuplicates(_ given: [SignInRequest]) throws(IdentityToolkitError) {
        var (emails, identities) = (Set<String>(), Set<[String]>())
        for fields in given {
            if let email = fields["email"] {
                try require(emails.insert(email.lowercased()).inserted, "DUPLICATE_EMAIL : \(email)")
            }
            for provider in fields.messages("providerUserInfo") {
                let (id, rawID) = (provider["providerId"] ?? "", provider["rawId"] ?? "")
                try require(
                    identities.insert([id, rawID]).inserted,
                    "DUPLICATE_RAW_ID : Provider id(\(id)), Raw id(\(rawID))")
            }
        }
    }
}

extension Optional {
    fileprivate func mapAsync<Value>(_ transform: (Wrapped) async throws -> Value) async rethrows -> Value? {
        if let self { try await transform(self) } else { nil }
    }
}
